# /// bank
# about = "__init__ of MLP does not call that of nn.Module"
# facts = "own"
# extends = "reference"
# ///


class MLP(nn.Module):
    def __init__(self, d):
        self.up = nn.Linear(d, 4 * d)
        self.down = nn.Linear(4 * d, d)

    def forward(self, x):
        return self.down(F.gelu(self.up(x)))
