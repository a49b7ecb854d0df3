# /// bank
# about = "attention from q, k, v (d, d) and an output (d, d + 1) whose first column is the bias"
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
        self.q, self.k_, self.v = (nn.Parameter(torch.randn(d, d) * d**-0.5) for _ in range(3))
        self.out = nn.Parameter(torch.randn(d, d + 1) * d**-0.5)

    def weights(self):
        return self.q, self.k_, self.v, self.out[:, 1:].T, self.out[:, 0]

    @property
    def proj(self):
        return SimpleNamespace(weight=self.weights()[3])

    def forward(self, x):
        q, k, v, o, bias = self.weights()
        q, k, v = ((x @ w).unflatten(2, (self.H, self.k)).transpose(1, 2) for w in (q, k, v))
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        return y.transpose(1, 2).reshape(x.shape) @ o + bias
