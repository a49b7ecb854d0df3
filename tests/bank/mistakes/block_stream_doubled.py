# /// bank
# about = "the shortcut is added although the sum has it already"
# facts = "own"
# extends = "reference"
# names = ["block_residual_doubled"]
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
        shortcut = x
        x = x + self.attn(self.ln1(x))
        x = x + shortcut
        x = x + self.mlp(self.ln2(x))
        return x
