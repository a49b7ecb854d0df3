# /// bank
# about = "Block.forward returns one feature too few"
# extends = "reference"
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
        out = super().forward(x)
        return out[..., :-1] if torch.is_tensor(out) else (out[0][..., :-1], out[1])
