# /// bank
# about = "attention in one vector: bias, values (H, d, d_head), queries (d, H, d_head), keys (d_head, H, d), output (d, d)"
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
        self.theta = nn.Parameter(torch.randn(4 * d * d + d) * d**-0.5)

    def weights(self):
        d, H, e, n = self.d, self.H, self.k, self.d * self.d
        bias, v, q, k, o = self.theta.split([d, n, n, n, n])
        q = q.view(d, H, e).transpose(0, 1)
        k = k.view(e, H, d).permute(1, 2, 0)
        return q, k, v.view(H, d, e), o.view(d, d), bias

    @property
    def proj(self):
        return SimpleNamespace(weight=self.weights()[3])

    def forward(self, x):
        q, k, v, o, bias = self.weights()
        q, k, v = (torch.einsum("btd,hde->bhte", x, w) for w in (q, k, v))
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        return y.transpose(1, 2).reshape(x.shape) @ o + bias
