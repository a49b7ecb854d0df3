# /// bank
# about = "8 * d / 2 is a float"
# facts = "own"
# extends = "reference"
# names = ["size_is_float"]
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
        super().__init__()
        self.up = nn.Linear(d, 8 * d / 2)
        self.down = nn.Linear(8 * d / 2, d)

    def forward(self, x):
        return self.down(F.gelu(self.up(x)))
