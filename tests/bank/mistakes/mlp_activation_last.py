# /// bank
# about = "GELU after the second Linear"
# facts = "M34"
# extends = "reference"
# names = ["mlp_activation_last"]
# [loses]
# "mlp.formula" = "partial"
# ///


class MLP(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.up = nn.Linear(d, 4 * d)
        self.down = nn.Linear(4 * d, d)

    def forward(self, x):
        return F.gelu(self.down(self.up(x)))
