# /// bank
# about = "log(1 + exp(x)) instead of GELU"
# facts = "own"
# extends = "reference"
# names = ["mlp_softplus"]
# [loses]
# "mlp.formula" = "partial"
# ///


class MLP(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.up = nn.Linear(d, 4 * d)
        self.down = nn.Linear(4 * d, d)

    def forward(self, x):
        h = self.up(x)
        h = torch.log(1 + torch.exp(h))
        return self.down(h)
