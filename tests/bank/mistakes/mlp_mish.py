# /// bank
# about = "Mish instead of GELU"
# facts = "own"
# extends = "reference"
# names = ["mlp_mish"]
# [loses]
# "mlp.formula" = "partial"
# ///


class MLP(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(d, 4 * d), nn.Mish(), nn.Linear(4 * d, d))

    @property
    def down(self):
        return self.net[2]

    def forward(self, x):
        return self.net(x)
