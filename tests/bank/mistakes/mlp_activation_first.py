# /// bank
# about = "GELU before the first linear map"
# facts = "own"
# extends = "reference"
# names = ["mlp_activation_first"]
# [loses]
# "mlp.formula" = "partial"
# ///


class MLP(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.up = nn.Linear(d, 4 * d)
        self.down = nn.Linear(4 * d, d)

    def forward(self, x):
        return self.down(self.up(F.gelu(x)))
