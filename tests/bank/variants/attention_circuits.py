# /// bank
# about = "attention from QK (H, 2, d, d_head) and OV (H, 2, d, d_head) tensors: a head's queries and keys change sign together"
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
        self.QK = nn.Parameter(torch.randn(H, 2, d, d // H) * d**-0.5)
        self.OV = nn.Parameter(torch.randn(H, 2, d, d // H) * d**-0.5)
        self.bias = nn.Parameter(torch.zeros(d))

    @property
    def proj(self):
        return SimpleNamespace(weight=self.OV.data[:, 0])

    def forward(self, x):
        T, e = x.shape[1], self.QK.shape[-1]
        qk = self.QK[:, 0] @ self.QK[:, 1].mT  # (H, d, d)
        ov = self.OV[:, 1] @ self.OV[:, 0].mT  # (H, d, d)
        scores = torch.einsum("btd,hdc,bsc->bhts", x, qk, x) / math.sqrt(e)
        later = torch.ones(T, T, dtype=torch.bool, device=x.device).triu(1)
        weights = scores.masked_fill(later, float("-inf")).softmax(-1)
        return torch.einsum("bhts,bsd,hdc->btc", weights, x, ov) + self.bias
