# /// bank
# about = "one d x d matrix makes the keys and the values of all heads"
# facts = "own"
# extends = "reference"
# names = ["value_is_key"]
# [loses]
# "attention.formula" = "partial"
# "parameters.total" = "failed"
# "parameters.other_sizes" = "failed"
# "parameters.by_part" = "partial"
# [bonus]
# "bonus.qk_ov" = "failed"
# ///


class MultiHeadAttention(nn.Module):
    def __init__(self, d, H, T_max):
        super().__init__()
        assert d % H == 0, f"{d} is no multiple of {H}"
        self.H = H
        self.q = nn.Linear(d, d, bias=False)
        self.kv = nn.Linear(d, d, bias=False)
        self.proj = nn.Linear(d, d)
        self.register_buffer("tril", torch.tril(torch.ones(T_max, T_max)))

    def forward(self, x):
        B, T, d = x.shape
        q = self.q(x).view(B, T, self.H, -1).transpose(1, 2)
        kv = self.kv(x).view(B, T, self.H, -1).transpose(1, 2)
        scores = q @ kv.transpose(2, 3) * (d // self.H) ** -0.5
        scores = scores.masked_fill(self.tril[:T, :T] == 0, float("-inf"))
        out = F.softmax(scores, dim=-1) @ kv
        return self.proj(out.transpose(1, 2).contiguous().view(B, T, d))
