# /// bank
# about = "MLP.__init__ never ends"
# extends = "reference"
# [loses]
# "mlp.formula" = "timeout"
# "mlp.width" = "timeout"
# "mlp.alone" = "timeout"
# "model.training" = "timeout"
# "parameters.total" = "timeout"
# "parameters.other_sizes" = "timeout"
# "parameters.by_part" = "timeout"
# "causality.full_model" = "timeout"
# "causality.past" = "timeout"
# "causality.batch_rows" = "timeout"
# "causality.simplex" = "timeout"
# "initial_loss.window" = "timeout"
# "initial_loss.residual_scaling" = "timeout"
# "shapes.course" = "timeout"
# "shapes.other_sizes" = "timeout"
# "generation.contract" = "timeout"
# "generation.crop" = "timeout"
# "generation.long_prompt" = "timeout"
# "generation.sampling" = "timeout"
# [bonus]
# "bonus.weight_tying" = "timeout"
# ///


class MLP(nn.Module):
    def __init__(self, d):
        super().__init__()
        hidden = d
        while hidden != 4 * d + 1:
            hidden *= 2
            if hidden > 4 * d:
                hidden = d
        self.up = nn.Linear(d, hidden)
        self.down = nn.Linear(hidden, d)

    def forward(self, x):
        return self.down(F.gelu(self.up(x)))
