# /// bank
# about = "one key and one value head for all queries"
# facts = "M26"
# extends = "reference"
# names = ["heads_share_keys_values"]
# [loses]
# "attention.heads" = "failed"
# "parameters.total" = "failed"
# "parameters.other_sizes" = "failed"
# "parameters.by_part" = "partial"
# [bonus]
# "bonus.qk_ov" = "failed"
# ///


class MultiHeadAttention(nn.Module):
    def __init__(self, d, H, T_max):
        super().__init__()
        assert d % H == 0
        self.H = H
        self.query = nn.Linear(d, d, bias=False)
        self.key = nn.Linear(d, d // H, bias=False)
        self.value = nn.Linear(d, d // H, bias=False)
        self.proj = nn.Linear(d, d)
        self.register_buffer("mask", torch.tril(torch.ones(T_max, T_max)))

    def forward(self, x):
        B, T, d = x.shape
        q = self.query(x).view(B, T, self.H, -1).transpose(1, 2)
        k = self.key(x).unsqueeze(1)
        v = self.value(x).unsqueeze(1)
        scores = q @ k.transpose(-2, -1) / math.sqrt(d // self.H)
        scores = scores.masked_fill(self.mask[:T, :T] == 0, float("-inf"))
        weights = F.softmax(scores, dim=-1)
        out = (weights @ v).transpose(1, 2).reshape(B, T, d)
        return self.proj(out)
