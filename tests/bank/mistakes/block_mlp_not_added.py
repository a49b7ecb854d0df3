# /// bank
# about = "the result of the MLP is assigned to a name that nothing reads"
# facts = "own"
# extends = "reference"
# names = ["block_no_mlp"]
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
        x = x + self.attn(self.ln1(x))
        out = self.mlp(self.ln2(x))
        return x
