# /// bank
# about = "MLP in one (4d, 2d + 1) parameter: each row has a hidden unit's input weights, bias and output weights"
# facts = "own"
# extends = "reference"
# ///


from types import SimpleNamespace


class MLP(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.d = d
        self.units = nn.Parameter(torch.randn(4 * d, 2 * d + 1) * 0.5 * d**-0.5)
        self.bias = nn.Parameter(torch.zeros(d))

    @property
    def down(self):
        return SimpleNamespace(weight=self.units.data[:, self.d + 1 :])

    def forward(self, x):
        up, a, down = self.units.split([self.d, 1, self.d], dim=1)
        return F.gelu(x @ up.T + a[:, 0]) @ down + self.bias
