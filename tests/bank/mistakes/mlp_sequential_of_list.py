# /// bank
# about = "nn.Sequential is given one list"
# facts = "own"
# extends = "reference"
# names = ["sequential_of_list"]
# [loses]
# "mlp.formula" = "failed"
# "mlp.width" = "failed"
# "mlp.position_wise" = "failed"
# "model.training" = "failed"
# "parameters.total" = "failed"
# "parameters.other_sizes" = "failed"
# "parameters.by_part" = "failed"
# "causality.full_model" = "failed"
# "causality.full_context" = "failed"
# "causality.batch_independence" = "failed"
# "causality.rows_sum_to_one" = "failed"
# "initial_loss.window" = "failed"
# "initial_loss.residual_scaling" = "failed"
# "shapes.course" = "failed"
# "shapes.other_sizes" = "failed"
# "generation.output_shape" = "failed"
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
        self.net = nn.Sequential([self.up, nn.GELU(), self.down])

    def forward(self, x):
        return self.net(x)
