# /// bank
# about = "Block passes sizes by name, in another order"
# extends = "reference"
# ///


class Block(Block):
    def __init__(self, d, H, T_max):
        nn.Module.__init__(self)
        self.ln1 = nn.LayerNorm(d)
        self.attn = MultiHeadAttention(T_max=T_max, d=d, H=H)
        self.ln2 = nn.LayerNorm(d)
        self.mlp = MLP(d=d)
