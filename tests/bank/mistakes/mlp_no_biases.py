# /// bank
# about = "MLP without biases"
# facts = "M37"
# extends = "reference"
# names = ["mlp_biases_missing"]
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
        self.down = nn.Linear(4 * d, d, bias=False)

    def forward(self, x):
        x = self.up(x)
        x = F.gelu(x)
        return self.down(x)
