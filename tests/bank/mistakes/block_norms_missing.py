# /// bank
# about = "the block is made without norms"
# facts = "own"
# extends = "reference"
# names = ["block_norms_missing"]
# [loses]
# "block.composition" = "partial"
# "parameters.total" = "failed"
# "parameters.other_sizes" = "failed"
# "parameters.by_part" = "partial"
# ///


class Block(nn.Module):
    def __init__(self, d, H, T_max):
        super().__init__()
        self.attn = MultiHeadAttention(d, H, T_max)
        self.mlp = MLP(d)

    def forward(self, x):
        x = x + self.attn(x)
        return x + self.mlp(x)
