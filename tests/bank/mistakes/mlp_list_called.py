# /// bank
# about = "a list of the three layers is called as if it were one"
# facts = "own"
# extends = "reference"
# names = ["list_called"]
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
        layers = [self.up, nn.GELU(), self.down]
        return layers(x)
