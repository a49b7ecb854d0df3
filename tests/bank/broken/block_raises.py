# /// bank
# about = "Block.forward uses an attribute that is not defined"
# extends = "reference"
# names = ["undefined_attribute"]
# [loses]
# "block.composition" = "failed"
# "block.residual_path" = "failed"
# "causality.full_model" = "failed"
# "causality.full_context" = "failed"
# "causality.batch_independence" = "failed"
# "causality.rows_sum_to_one" = "failed"
# ///


class Block(Block):
    def forward(self, x):
        return super().forward(x) + self.missing
