# /// bank
# about = "the attention reads the stream without a norm"
# facts = "own"
# extends = "reference"
# names = ["block_first_norm_missing"]
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
        x = x + self.mlp(self.ln2(x))
        return x
