# /// bank
# about = "the second residual adds the block's input"
# facts = "M47"
# extends = "reference"
# names = ["block_mlp_added_to_input"]
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
        y = x + self.attn(self.ln1(x))
        x = x + self.mlp(self.ln2(y))
        return x
