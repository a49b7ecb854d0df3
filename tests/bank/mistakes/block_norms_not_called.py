# /// bank
# about = "the norms are declared, but not called"
# facts = "M49"
# extends = "reference"
# names = ["block_no_norms"]
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
        x = x + self.attn(x)
        x = x + self.mlp(x)
        return x
