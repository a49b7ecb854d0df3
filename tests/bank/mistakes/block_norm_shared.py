# /// bank
# about = "one LayerNorm instance for both sublayers"
# facts = "M42"
# extends = "reference"
# [loses]
# "parameters.total" = "failed"
# "parameters.other_sizes" = "failed"
# "parameters.by_part" = "partial"
# [bonus]
# "bonus.weight_tying" = "passed"
# "bonus.batched_heads" = "passed"
# "bonus.qk_ov" = "passed"
# ///


class Block(nn.Module):
    def __init__(self, d, H, T_max):
        super().__init__()
        self.ln = nn.LayerNorm(d)
        self.attn = MultiHeadAttention(d, H, T_max)
        self.mlp = MLP(d)

    def forward(self, x):
        x = x + self.attn(self.ln(x))
        x = x + self.mlp(self.ln(x))
        return x
