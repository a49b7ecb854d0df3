# /// bank
# about = "Block builds MLP(4 * d), and MLP multiplies by 4 again"
# extends = "reference"
# names = ["constructor_arguments"]
# [loses]
# "block.composition" = "partial"
# "parameters.total" = "failed"
# "parameters.other_sizes" = "failed"
# "parameters.by_part" = "partial"
# "causality.full_model" = "failed"
# "causality.full_context" = "failed"
# "causality.batch_independence" = "failed"
# "causality.rows_sum_to_one" = "failed"
# ///


class Block(Block):
    def __init__(self, d, H, T_max):
        nn.Module.__init__(self)
        self.ln1 = nn.LayerNorm(d)
        self.attn = MultiHeadAttention(d, H, T_max)
        self.ln2 = nn.LayerNorm(d)
        self.mlp = MLP(4 * d)
