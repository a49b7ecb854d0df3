# /// bank
# about = "the input is cut into H slices, and all go through one small query, key and value"
# facts = "M18"
# extends = "reference"
# names = ["heads_slice_input"]
# [loses]
# "attention.formula" = "failed"
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
        self.query = nn.Linear(d // H, d // H, bias=False)
        self.key = nn.Linear(d // H, d // H, bias=False)
        self.value = nn.Linear(d // H, d // H, bias=False)
        self.proj = nn.Linear(d, d)
        self.register_buffer("mask", torch.tril(torch.ones(T_max, T_max)))

    def forward(self, x):
        B, T, d = x.shape
        x = x.view(B, T, self.H, d // self.H).transpose(1, 2)
        q = self.query(x)
        k = self.key(x)
        v = self.value(x)
        scores = q @ k.transpose(-2, -1) / math.sqrt(d // self.H)
        scores = scores.masked_fill(self.mask[:T, :T] == 0, float("-inf"))
        weights = F.softmax(scores, dim=-1)
        out = (weights @ v).transpose(1, 2).reshape(B, T, d)
        return self.proj(out)
