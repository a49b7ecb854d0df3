# /// bank
# about = "Block.__init__ raises a TypeError"
# extends = "reference"
# names = ["signature_mismatch"]
# [loses]
# "block.composition" = "failed"
# "block.residual_path" = "failed"
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
        super().__init__(d, H, T_max)
        self.register_buffer(torch.zeros(1))
