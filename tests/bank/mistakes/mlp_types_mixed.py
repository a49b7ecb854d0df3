# /// bank
# about = "x is made bfloat16, and the weights are not"
# facts = "own"
# extends = "reference"
# names = ["dtype_mismatch"]
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
        x = x.to(torch.bfloat16)
        return self.down(F.gelu(self.up(x)))
