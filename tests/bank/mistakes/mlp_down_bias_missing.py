# /// bank
# about = "only the second Linear has no bias"
# facts = "M37"
# extends = "reference"
# names = ["mlp_down_bias_missing"]
# [loses]
# "mlp.formula" = "partial"
# "parameters.total" = "failed"
# "parameters.other_sizes" = "failed"
# "parameters.by_part" = "partial"
# ///


class MLP(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.up = nn.Linear(d, 4 * d)
        self.down = nn.Linear(4 * d, d, bias=False)

    def forward(self, x):
        return self.down(F.gelu(self.up(x)))
