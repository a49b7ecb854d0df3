# /// bank
# about = "attention: queries and keys use weight.data, so they get no gradient"
# facts = "own"
# extends = "reference"
# names = ["parameter_without_gradient"]
# also = ["undefined_attribute"]
# [loses]
# "model.training" = "partial"
# [bonus]
# "bonus.qk_ov" = "failed"
# ///


class MultiHeadAttention(nn.Module):
    def __init__(self, d, H, T_max):
        super().__init__()
        assert d % H == 0
        self.H = H
        self.q, self.k, self.v = (nn.Linear(d, d, bias=False) for _ in range(3))
        self.proj = nn.Linear(d, d)

    def forward(self, x):
        q, k = (F.linear(x, layer.weight.data) for layer in (self.q, self.k))
        q, k, v = (y.unflatten(2, (self.H, -1)).transpose(1, 2) for y in (q, k, self.v(x)))
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        return self.proj(y.transpose(1, 2).flatten(2))
