# /// bank
# about = "q.size(1) of (B, H, T, d_head) is taken for d_head: scores divided by sqrt(H)"
# facts = "own"
# extends = "reference"
# names = ["scale_sqrt_H"]
# [loses]
# "attention.formula" = "partial"
# [bonus]
# "bonus.qk_ov" = "failed"
# ///


class MultiHeadAttention(nn.Module):
    def __init__(self, d, H, T_max):
        super().__init__()
        assert d % H == 0
        self.H = H
        self.qkv = nn.Linear(d, 3 * d, bias=False)
        self.proj = nn.Linear(d, d)
        self.register_buffer("mask", torch.tril(torch.ones(T_max, T_max, dtype=torch.bool)))

    def forward(self, x):
        B, T, d = x.shape
        q, k, v = self.qkv(x).view(B, T, 3, self.H, d // self.H).permute(2, 0, 3, 1, 4)
        scores = q @ k.transpose(-2, -1) / math.sqrt(q.size(1))
        scores = scores.masked_fill(~self.mask[:T, :T], -math.inf)
        y = scores.softmax(dim=-1) @ v
        return self.proj(y.transpose(1, 2).reshape(B, T, d))
