# /// bank
# about = "MLP.__init__ never ends"
# extends = "reference"
# [loses]
# "mlp.formula" = "timeout"
# "mlp.width" = "timeout"
# "mlp.position_wise" = "timeout"
# "model.training" = "timeout"
# "parameters.total" = "timeout"
# "parameters.other_sizes" = "timeout"
# "parameters.by_part" = "timeout"
# "causality.full_model" = "timeout"
# "causality.full_context" = "timeout"
# "causality.batch_independence" = "timeout"
# "causality.rows_sum_to_one" = "timeout"
# "initial_loss.window" = "timeout"
# "initial_loss.residual_scaling" = "timeout"
# "shapes.course" = "timeout"
# "shapes.other_sizes" = "timeout"
# "generation.output_shape" = "timeout"
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
