# /// bank
# about = "class MLP:"
# extends = "variants/public_base"
# names = ["undefined_attribute"]
# also = ["scaling_mlp_missing"]
# [loses]
# "mlp.formula" = "failed"
# "mlp.width" = "failed"
# "mlp.position_wise" = "failed"
# "block.composition" = "failed"
# "block.residual_path" = "failed"
# "model.training" = "failed"
# "parameters.total" = "failed"
# "parameters.other_sizes" = "failed"
# "parameters.by_part" = "partial"
# "causality.full_model" = "failed"
# "causality.full_context" = "failed"
# "causality.batch_independence" = "failed"
# "causality.rows_sum_to_one" = "failed"
# "initial_loss.window" = "failed"
# "initial_loss.residual_scaling" = "partial"
# "shapes.course" = "failed"
# "shapes.other_sizes" = "failed"
# "generation.output_shape" = "failed"
# "generation.crop" = "failed"
# "generation.long_prompt" = "failed"
# "generation.sampling" = "failed"
# [bonus]
# "bonus.weight_tying" = "not_implemented"
# "bonus.batched_heads" = "not_implemented"
# "bonus.qk_ov" = "not_implemented"
# ///

class MLP:
    def __init__(self, d):
        super().__init__()
        self.up = nn.Linear(d, 4 * d)
        self.down = nn.Linear(4 * d, d)

    def forward(self, x):
        return self.down(F.gelu(self.up(x)))
