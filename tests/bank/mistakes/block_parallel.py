# /// bank
# about = "both sublayers read the block's input"
# facts = "M48"
# extends = "reference"
# names = ["block_parallel"]
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
        return x + self.attn(self.ln1(x)) + self.mlp(self.ln2(x))
