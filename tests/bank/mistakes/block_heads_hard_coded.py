# /// bank
# about = "Block builds an attention of 4 heads, whatever H is"
# extends = "reference"
# names = ["constructor_arguments"]
# [loses]
# "block.composition" = "partial"
# "parameters.other_sizes" = "failed"
# ///


class Block(Block):
    def __init__(self, d, H, T_max):
        nn.Module.__init__(self)
        self.ln1 = nn.LayerNorm(d)
        self.attn = MultiHeadAttention(d, 4, T_max)
        self.ln2 = nn.LayerNorm(d)
        self.mlp = MLP(d)
