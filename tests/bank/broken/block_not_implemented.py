# /// bank
# about = "Block.forward is still a stub"
# extends = "reference"
# [loses]
# "block.composition" = "not_implemented"
# "block.residual_path" = "not_implemented"
# "causality.full_model" = "blocked"
# "causality.full_context" = "blocked"
# "causality.batch_independence" = "blocked"
# "causality.rows_sum_to_one" = "blocked"
# ///


class Block(Block):
    def forward(self, x):
        raise NotImplementedError()
