# /// bank
# about = "forward says self(x) for self.up(x)"
# facts = "own"
# extends = "reference"
# names = ["calls_itself"]
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
        return self.down(F.gelu(self(x)))
