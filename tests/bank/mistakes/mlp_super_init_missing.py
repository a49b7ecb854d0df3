# /// bank
# about = "__init__ of MLP does not call that of nn.Module"
# facts = "own"
# extends = "reference"
# names = ["super_init_missing"]
# [loses]
# "mlp.formula" = "failed"
# "mlp.width" = "failed"
# "mlp.position_wise" = "failed"
# "parameters.total" = "failed"
# "parameters.other_sizes" = "failed"
# "parameters.by_part" = "failed"
# ///


class MLP(nn.Module):
    def __init__(self, d):
        self.up = nn.Linear(d, 4 * d)
        self.down = nn.Linear(4 * d, d)

    def forward(self, x):
        return self.down(F.gelu(self.up(x)))
