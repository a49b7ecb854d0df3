# /// bank
# about = "MLP.forward computes its result and does not return it"
# facts = "own"
# extends = "reference"
# names = ["result_is_none"]
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
        x = F.gelu(self.up(x))
        x = self.down(x)
