# /// bank
# about = "GELU is called where up is, and again where down is"
# facts = "own"
# extends = "reference"
# names = ["mlp_activation_doubled"]
# [loses]
# "mlp.formula" = "partial"
# ///


class MLP(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.up = nn.Linear(d, 4 * d)
        self.down = nn.Linear(4 * d, d)

    def forward(self, x):
        hidden = F.gelu(self.up(x))
        return self.down(F.gelu(hidden))
