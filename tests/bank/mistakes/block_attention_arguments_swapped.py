# /// bank
# about = "Block passes T_max and H to MultiHeadAttention in the wrong order"
# extends = "reference"
# names = ["constructor_arguments"]
# [loses]
# "block.composition" = "partial"
# "parameters.total" = "failed"
# "parameters.other_sizes" = "failed"
# "parameters.by_part" = "failed"
# "causality.full_model" = "failed"
# "causality.full_context" = "failed"
# "causality.batch_independence" = "failed"
# "causality.rows_sum_to_one" = "failed"
# ///


class Block(Block):
    def __init__(self, d, H, T_max):
        nn.Module.__init__(self)
        self.ln1 = nn.LayerNorm(d)
        self.attn = MultiHeadAttention(d, T_max, H)
        self.ln2 = nn.LayerNorm(d)
        self.mlp = MLP(d)
