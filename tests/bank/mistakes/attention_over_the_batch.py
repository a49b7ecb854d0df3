# /// bank
# about = "the batch axis is taken for time (T, B, d): rows attend to earlier rows, tokens to nothing"
# facts = "M25"
# extends = "reference"
# names = ["attention_over_batch"]
# [loses]
# "attention.formula" = "partial"
# "attention.causal" = "failed"
# "causality.full_context" = "failed"
# "causality.batch_independence" = "failed"
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

    def forward(self, x):
        T, B, d = x.shape
        q = self.query(x).view(T, B * self.H, d // self.H).transpose(0, 1)  # (B * H, T, d_head)
        k = self.key(x).view(T, B * self.H, d // self.H).transpose(0, 1)
        v = self.value(x).view(T, B * self.H, d // self.H).transpose(0, 1)
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        return self.proj(y.transpose(0, 1).reshape(T, B, d))
