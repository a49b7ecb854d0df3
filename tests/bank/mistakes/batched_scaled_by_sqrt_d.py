# /// bank
# about = "the batched version divides by sqrt(d) where the loop divides by sqrt(d_head)"
# facts = "bonus, M01"
# extends = "reference"
# also = ["scale_sqrt_d"]
# [bonus]
# "bonus.weight_tying" = "passed"
# "bonus.batched_heads" = "failed"
# "bonus.qk_ov" = "passed"
# ///


class BatchedMultiHeadAttention(nn.Module):
    def __init__(self, d, H, T_max):
        super().__init__()
        assert d % H == 0
        self.H = H
        self.query = nn.Linear(d, d, bias=False)
        self.key = nn.Linear(d, d, bias=False)
        self.value = nn.Linear(d, d, bias=False)
        self.proj = nn.Linear(d, d)

    def forward(self, x):
        B, T, d = x.shape
        heads = [f(x).unflatten(-1, (self.H, d // self.H)).transpose(1, 2) for f in (self.query, self.key, self.value)]
        out = F.scaled_dot_product_attention(*heads, is_causal=True, scale=1 / math.sqrt(d))
        return self.proj(out.transpose(1, 2).flatten(2))
