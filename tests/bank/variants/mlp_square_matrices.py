# /// bank
# about = "MLP in (8, d, d) matrices and (5, d) biases"
# facts = "own"
# extends = "reference"
# ///


from types import SimpleNamespace


class MLP(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.squares = nn.Parameter(torch.randn(8, d, d) * 0.5 * d**-0.5)
        self.vectors = nn.Parameter(torch.zeros(5, d))

    @property
    def down(self):
        return SimpleNamespace(weight=self.squares.data[4:])

    def forward(self, x):
        hidden = torch.cat([x @ w.T + a for w, a in zip(self.squares[:4], self.vectors[:4])], dim=-1)
        d = x.shape[-1]
        return sum(F.gelu(h) @ w for h, w in zip(hidden.split(d, dim=-1), self.squares[4:])) + self.vectors[4]
