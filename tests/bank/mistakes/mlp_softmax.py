# /// bank
# about = "a softmax over the hidden features instead of GELU"
# facts = "own"
# extends = "reference"
# names = ["mlp_softmax"]
# [loses]
# "mlp.formula" = "partial"
# ///


class MLP(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.up = nn.Linear(d, 4 * d)
        self.down = nn.Linear(4 * d, d)

    def forward(self, x):
        return self.down(torch.softmax(self.up(x), dim=-1))
