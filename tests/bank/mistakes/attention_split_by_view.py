# /// bank
# about = "(B, T, d) is viewed as (B, H, T, d_head) at once: positions and heads mix"
# facts = "own"
# extends = "reference"
# names = ["split_without_transpose"]
# [loses]
# "attention.formula" = "partial"
# "attention.causal" = "failed"
# "causality.full_model" = "failed"
# "causality.rows_sum_to_one" = "failed"
# [bonus]
# "bonus.qk_ov" = "failed"
# ///


class MultiHeadAttention(nn.Module):
    def __init__(self, d, H, T_max):
        super().__init__()
        assert d % H == 0
        self.H = H
        self.query = nn.Linear(d, d, bias=False)
        self.key = nn.Linear(d, d, bias=False)
        self.value = nn.Linear(d, d, bias=False)
        self.proj = nn.Linear(d, d)
        self.register_buffer("mask", torch.tril(torch.ones(T_max, T_max)))

    def forward(self, x):
        B, T, d = x.shape
        q = self.query(x).view(B, self.H, T, d // self.H)
        k = self.key(x).view(B, self.H, T, d // self.H)
        v = self.value(x).view(B, self.H, T, d // self.H)
        scores = q @ k.transpose(-2, -1) / math.sqrt(d // self.H)
        scores = scores.masked_fill(self.mask[:T, :T] == 0, float("-inf"))
        weights = F.softmax(scores, dim=-1)
        out = (weights @ v).transpose(1, 2).reshape(B, T, d)
        return self.proj(out)
