# /// bank
# about = "MLP in one vector: down bias, up (d, 4d), up bias, down (d, 4d)"
# facts = "own"
# extends = "reference"
# ///


from types import SimpleNamespace


class MLP(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.d = d
        self.theta = nn.Parameter(torch.randn(8 * d * d + 5 * d) * 0.5 * d**-0.5)

    def weights(self):
        d, m = self.d, 4 * self.d
        b, up, a, down = self.theta.split([d, m * d, m, m * d])
        return up.view(d, m), a, down.view(d, m).T, b

    @property
    def down(self):
        return SimpleNamespace(weight=self.weights()[2])

    def forward(self, x):
        up, a, down, b = self.weights()
        return F.gelu(x @ up + a) @ down + b
