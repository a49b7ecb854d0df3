# /// bank
# about = "a list of the three layers is called as if it were one"
# facts = "own"
# extends = "reference"
# names = ["list_called"]
# [loses]
# "mlp.formula" = "failed"
# "mlp.alone" = "failed"
# "model.training" = "failed"
# "causality.full_model" = "failed"
# "causality.past" = "failed"
# "causality.batch_rows" = "failed"
# "causality.simplex" = "failed"
# "initial_loss.window" = "failed"
# "shapes.course" = "failed"
# "shapes.other_sizes" = "failed"
# "generation.contract" = "failed"
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
