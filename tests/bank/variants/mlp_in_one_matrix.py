# /// bank
# about = "MLP in one (8d + 5, d) parameter: output bias, down, biases of the hidden units, up"
# facts = "own"
# extends = "reference"
# ///


from types import SimpleNamespace


class MLP(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.d = d
        self.rows = nn.Parameter(torch.randn(8 * d + 5, d) * 0.5 * d**-0.5)

    @property
    def down(self):
        return SimpleNamespace(weight=self.rows.data[1 : 4 * self.d + 1])

    def forward(self, x):
        b, down, a, up = self.rows.split([1, 4 * self.d, 4, 4 * self.d])
        return F.gelu(x @ up.T + a.flatten()) @ down + b[0]
