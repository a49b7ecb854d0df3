# /// bank
# about = "MLP from (4d, d + 1) and (d, 4d + 1) parameters, each with its bias as the first column"
# facts = "own"
# extends = "reference"
# ///


from types import SimpleNamespace


class MLP(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.d = d
        self.first = nn.Parameter(torch.randn(4 * d, d + 1) * d**-0.5)
        self.second = nn.Parameter(torch.randn(d, 4 * d + 1) * 0.5 * d**-0.5)

    def weights(self):
        d, m = self.d, 4 * self.d
        return self.first[:, 1:].T, self.first[:, 0], self.second[:, 1:].T, self.second[:, 0]

    @property
    def down(self):
        return SimpleNamespace(weight=self.weights()[2])

    def forward(self, x):
        up, a, down, b = self.weights()
        return F.gelu(x @ up + a) @ down + b
