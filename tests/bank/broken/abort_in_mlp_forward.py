# /// bank
# about = "the process dies in MLP.forward; everything that never runs an MLP is untouched"
# extends = "reference"
# [loses]
# "mlp.formula" = "crashed"
# "mlp.position_wise" = "crashed"
# "model.training" = "crashed"
# "causality.full_model" = "crashed"
# "causality.full_context" = "crashed"
# "causality.batch_independence" = "crashed"
# "causality.rows_sum_to_one" = "crashed"
# "initial_loss.window" = "crashed"
# "shapes.course" = "crashed"
# "shapes.other_sizes" = "crashed"
# "generation.output_shape" = "crashed"
# "generation.crop" = "crashed"
# "generation.long_prompt" = "crashed"
# "generation.sampling" = "crashed"
# [bonus]
# "bonus.weight_tying" = "crashed"
# ///


import ctypes


class MLP(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.up = nn.Linear(d, 4 * d)
        self.down = nn.Linear(4 * d, d)

    def forward(self, x):
        # reuse the memory of the hidden layer
        hidden = self.up(x)
        ctypes.memset(0, 0, hidden.numel() * 4)
        return self.down(F.gelu(hidden))
