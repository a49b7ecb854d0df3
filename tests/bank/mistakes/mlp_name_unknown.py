# /// bank
# about = "gelu is called without F."
# facts = "own"
# extends = "reference"
# names = ["name_unknown"]
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
        return self.down(gelu(self.up(x)))
