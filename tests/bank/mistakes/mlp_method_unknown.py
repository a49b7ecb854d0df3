# /// bank
# about = "the method is called foward"
# facts = "own"
# extends = "reference"
# names = ["method_unknown"]
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


class MLP(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.up = nn.Linear(d, 4 * d)
        self.down = nn.Linear(4 * d, d)

    def foward(self, x):
        return self.down(F.gelu(self.up(x)))
