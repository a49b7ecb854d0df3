# /// bank
# about = "x is overwritten by its normed copy before the attention"
# facts = "own"
# extends = "reference"
# names = ["block_first_residual_from_norm"]
# [loses]
# "block.composition" = "partial"
# "block.residual_path" = "failed"
# ///


class Block(nn.Module):
    def __init__(self, d, H, T_max):
        super().__init__()
        self.ln1 = nn.LayerNorm(d)
        self.attn = MultiHeadAttention(d, H, T_max)
        self.ln2 = nn.LayerNorm(d)
        self.mlp = MLP(d)

    def forward(self, x):
        x = self.ln1(x)
        x = x + self.attn(x)
        return x + self.mlp(self.ln2(x))
