# /// bank
# about = "a second GELU after the second Linear"
# facts = "M34"
# extends = "reference"
# names = ["mlp_activation_twice"]
# [loses]
# "mlp.formula" = "partial"
# ///


class MLP(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.up = nn.Linear(d, 4 * d)
        self.down = nn.Linear(4 * d, d)

    def forward(self, x):
        return F.gelu(self.down(F.gelu(self.up(x))))
