# /// bank
# about = "queries, keys and values in one (3, d * d) parameter, each row viewed in another order; an output vector with its bias"
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
        self.rows = nn.Parameter(torch.randn(3, d * d) * d**-0.5)
        self.out = nn.Parameter(torch.randn(d * d + d) * d**-0.5)

    def weights(self):
        d, H, e = self.d, self.H, self.k
        q, k, v = self.rows
        o, bias = self.out.split([d * d, d])
        return q.view(H, e, d).mT, k.view(d, e, H).permute(2, 0, 1), v.view(H, d, e), o.view(d, d).T, bias

    @property
    def proj(self):
        return SimpleNamespace(weight=self.weights()[3])

    def forward(self, x):
        q, k, v, o, bias = self.weights()
        q, k, v = (torch.einsum("btd,hde->bhte", x, w) for w in (q, k, v))
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        return y.transpose(1, 2).reshape(x.shape) @ o + bias
