# /// bank
# about = "MLP from two vectors, each a matrix and its bias end to end"
# facts = "own"
# extends = "reference"
# ///


from types import SimpleNamespace


class MLP(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.d = d
        self.first = nn.Parameter(torch.randn(4 * d * d + 4 * d) * d**-0.5)
        self.second = nn.Parameter(torch.randn(4 * d * d + d) * 0.5 * d**-0.5)

    def weights(self):
        d, m = self.d, 4 * self.d
        up, a = self.first.split([m * d, m])
        b, down = self.second.split([d, m * d])
        return up.view(m, d).T, a, down.view(m, d), b

    @property
    def down(self):
        return SimpleNamespace(weight=self.weights()[2])

    def forward(self, x):
        up, a, down, b = self.weights()
        return F.gelu(x @ up + a) @ down + b
