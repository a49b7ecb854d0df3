# /// bank
# about = "MLP.__init__ never ends"
# extends = "reference"
# [loses]
# "mlp.formula" = "timeout"
# "mlp.width" = "timeout"
# "mlp.position_wise" = "timeout"
# "parameters.total" = "timeout"
# "parameters.other_sizes" = "timeout"
# "parameters.by_part" = "timeout"
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
