# /// bank
# about = "only the first Linear has no bias"
# facts = "M37"
# extends = "reference"
# names = ["mlp_up_bias_missing"]
# [loses]
# "mlp.formula" = "partial"
# "parameters.total" = "failed"
# "parameters.other_sizes" = "failed"
# "parameters.by_part" = "partial"
# ///


class MLP(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.up = nn.Linear(d, 4 * d, bias=False)
        self.down = nn.Linear(4 * d, d)

    def forward(self, x):
        return self.down(F.gelu(self.up(x)))
