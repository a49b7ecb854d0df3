# /// bank
# about = "the norms are applied to the results of the sublayers"
# facts = "own"
# extends = "reference"
# names = ["block_norm_after_sublayer"]
# [loses]
# "block.composition" = "partial"
# ///


class Block(nn.Module):
    def __init__(self, d, H, T_max):
        super().__init__()
        self.ln1 = nn.LayerNorm(d)
        self.attn = MultiHeadAttention(d, H, T_max)
        self.ln2 = nn.LayerNorm(d)
        self.mlp = MLP(d)

    def forward(self, x):
        x = x + self.ln1(self.attn(x))
        x = x + self.ln2(self.mlp(x))
        return x
