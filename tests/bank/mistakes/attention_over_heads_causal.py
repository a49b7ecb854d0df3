# /// bank
# about = "attention over (B, T, H, d_head) without transposing, so causally over heads"
# facts = "own"
# extends = "reference"
# names = ["attention_over_heads"]
# also = ["undefined_attribute"]
# [loses]
# "attention.formula" = "partial"
# "attention.causal" = "failed"
# "causality.full_context" = "failed"
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

    def forward(self, x):
        B, T, d = x.shape
        q, k, v = (part.view(B, T, self.H, d // self.H) for part in self.qkv(x).chunk(3, dim=-1))
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        return self.proj(y.reshape(B, T, d))
