# /// bank
# about = "nn.Sequential is given one list"
# facts = "own"
# extends = "reference"
# names = ["sequential_of_list"]
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
        self.up = nn.Linear(d, 4 * d)
        self.down = nn.Linear(4 * d, d)
        self.net = nn.Sequential([self.up, nn.GELU(), self.down])

    def forward(self, x):
        return self.net(x)
