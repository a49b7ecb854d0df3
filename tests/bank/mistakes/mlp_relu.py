# /// bank
# about = "ReLU instead of GELU"
# facts = "M35"
# extends = "reference"
# names = ["mlp_relu"]
# [loses]
# "mlp.formula" = "partial"
# ///


class MLP(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.up = nn.Linear(d, 4 * d)
        self.down = nn.Linear(4 * d, d)

    def forward(self, x):
        return self.down(F.relu(self.up(x)))
