# /// bank
# about = "one LayerNorm instance for both sublayers"
# facts = "M42"
# extends = "reference"
# names = ["norm_shared"]
# [loses]
# "block.composition" = "partial"
# "parameters.total" = "failed"
# "parameters.other_sizes" = "failed"
# "parameters.by_part" = "partial"
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
