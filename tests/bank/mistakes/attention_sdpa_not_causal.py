# /// bank
# about = "scaled_dot_product_attention without is_causal: every token sees the whole sequence"
# facts = "M28, M14"
# extends = "reference"
# names = ["mask_missing"]
# [loses]
# "attention.formula" = "partial"
# "attention.causal" = "failed"
# "causality.full_model" = "failed"
# [bonus]
# "bonus.qk_ov" = "failed"
# ///


class MultiHeadAttention(nn.Module):
    def __init__(self, d, H, T_max):
        super().__init__()
        assert d % H == 0
        self.H = H
        self.c_attn = nn.Linear(d, 3 * d, bias=False)
        self.proj = nn.Linear(d, d)

    def forward(self, x):
        B, T, C = x.shape
        q, k, v = self.c_attn(x).split(C, dim=-1)
        q, k, v = (t.view(B, T, self.H, C // self.H).transpose(1, 2) for t in (q, k, v))
        y = F.scaled_dot_product_attention(q, k, v)
        return self.proj(y.transpose(1, 2).reshape(B, T, C))
