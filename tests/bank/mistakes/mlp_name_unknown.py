# /// bank
# about = "gelu is called without F."
# facts = "own"
# extends = "reference"
# names = ["undefined_name"]
# [loses]
# "mlp.formula" = "failed"
# "mlp.position_wise" = "failed"
# "model.training" = "failed"
# "causality.full_model" = "failed"
# "causality.full_context" = "failed"
# "causality.batch_independence" = "failed"
# "causality.rows_sum_to_one" = "failed"
# "initial_loss.window" = "failed"
# "shapes.course" = "failed"
# "shapes.other_sizes" = "failed"
# "generation.output_shape" = "failed"
# "generation.crop" = "failed"
# "generation.long_prompt" = "failed"
# "generation.sampling" = "failed"
# [bonus]
# "bonus.weight_tying" = "failed"
# ///


class MLP(MLP):
    def forward(self, x):
        return self.down(gelu(self.up(x)))
