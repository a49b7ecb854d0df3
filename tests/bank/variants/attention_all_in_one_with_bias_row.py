# /// bank
# about = "attention in one (4d + 1, d) parameter: output, q, k, v as (d, d), then the bias as a row"
# facts = "own"
# extends = "reference"
# [bonus]
# "bonus.qk_ov" = "failed"
# ///


from types import SimpleNamespace


class MultiHeadAttention(nn.Module):
    def __init__(self, d, H, T_max):
        super().__init__()
        assert d % H == 0
        self.d, self.H, self.k = d, H, d // H
        self.all = nn.Parameter(torch.randn(4 * d + 1, d) * d**-0.5)

    def weights(self):
        o, q, k, v, bias = self.all.split([self.d] * 4 + [1])
        return q, k, v, o, bias[0]

    @property
    def proj(self):
        return SimpleNamespace(weight=self.weights()[3])

    def forward(self, x):
        q, k, v, o, bias = self.weights()
        q, k, v = ((x @ w).unflatten(2, (self.H, self.k)).transpose(1, 2) for w in (q, k, v))
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        return y.transpose(1, 2).reshape(x.shape) @ o + bias
