# /// bank
# about = "the residual is added inside the MLP too"
# facts = "M50"
# extends = "reference"
# names = ["mlp_adds_input"]
# [loses]
# "mlp.formula" = "partial"
# ///


class MLP(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.up = nn.Linear(d, 4 * d)
        self.down = nn.Linear(4 * d, d)

    def forward(self, x):
        return x + self.down(F.gelu(self.up(x)))
