# /// bank
# about = "the MLP has a third layer of the wrong width, so that it raises"
# facts = "own"
# extends = "reference"
# [loses]
# "mlp.formula" = "failed"
# "mlp.width" = "failed"
# "mlp.position_wise" = "failed"
# "parameters.total" = "failed"
# "parameters.other_sizes" = "failed"
# "parameters.by_part" = "partial"
# ///


class MLP(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.up = nn.Linear(d, 4 * d)
        self.middle = nn.Linear(d, 4 * d)
        self.down = nn.Linear(4 * d, d)

    def forward(self, x):
        return self.down(F.gelu(self.middle(F.gelu(self.up(x)))))
