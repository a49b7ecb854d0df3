# /// bank
# about = "activation, a helper of its own, has no return"
# facts = "own"
# extends = "reference"
# names = ["result_is_none"]
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


def activation(x):
    x = F.gelu(x)


class MLP(MLP):
    def forward(self, x):
        return self.down(activation(self.up(x)))
