# /// bank
# about = "ELU instead of GELU"
# facts = "own"
# extends = "reference"
# names = ["mlp_elu"]
# [loses]
# "mlp.formula" = "partial"
# ///


class MLP(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.up = nn.Linear(d, 4 * d)
        self.down = nn.Linear(4 * d, d)

    def forward(self, x):
        return self.down(F.elu(self.up(x)))
