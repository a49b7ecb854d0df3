# /// bank
# about = "Block.forward never returns"
# extends = "reference"
# [loses]
# "block.composition" = "timeout"
# "block.residual_path" = "timeout"
# "causality.full_model" = "timeout"
# "causality.full_context" = "timeout"
# "causality.batch_independence" = "timeout"
# "causality.rows_sum_to_one" = "timeout"
# ///


class Block(Block):
    def forward(self, x):
        while x is not None:
            pass
