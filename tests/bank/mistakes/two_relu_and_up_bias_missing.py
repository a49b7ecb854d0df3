# /// bank
# about = "two mistakes in one class: ReLU, and the first Linear has no bias"
# facts = "M35, M37"
# extends = "reference"
# names = ["mlp_up_bias_missing", "mlp_relu"]
# [loses]
# "mlp.formula" = "failed"
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
        return self.down(F.relu(self.up(x)))
