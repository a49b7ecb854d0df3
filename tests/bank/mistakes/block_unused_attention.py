# /// bank
# about = "the block has a second attention with its norm that forward never uses: only the count is wrong"
# extends = "reference"
# also = ["parameters_unused"]
# [loses]
# "parameters.total" = "failed"
# "parameters.other_sizes" = "failed"
# "parameters.by_part" = "partial"
# ///


class Block(Block):
    def __init__(self, d, H, T_max):
        super().__init__(d, H, T_max)
        self.cross = MultiHeadAttention(d, H, T_max)
        self.ln3 = nn.LayerNorm(d)
