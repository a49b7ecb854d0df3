# /// bank
# about = "ln1 is used for both sublayers, ln2 is declared only"
# facts = "M43"
# extends = "reference"
# names = ["block_first_norm_twice"]
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
        x = x + self.mlp(self.ln1(x))
        return x
