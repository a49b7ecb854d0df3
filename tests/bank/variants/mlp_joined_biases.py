# /// bank
# about = "MLP matrices in one (2, d, 4d) parameter, and both biases in one vector of 5d, that of the output first"
# facts = "own"
# extends = "reference"
# ///


from types import SimpleNamespace


class MLP(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.d = d
        self.both = nn.Parameter(torch.randn(2, d, 4 * d) * 0.5 * d**-0.5)
        self.biases = nn.Parameter(torch.zeros(5 * d))

    def weights(self):
        d, m = self.d, 4 * self.d
        b, a = self.biases.split([d, m])
        return self.both[1], a, self.both[0].T, b

    @property
    def down(self):
        return SimpleNamespace(weight=self.weights()[2])

    def forward(self, x):
        up, a, down, b = self.weights()
        return F.gelu(x @ up + a) @ down + b
