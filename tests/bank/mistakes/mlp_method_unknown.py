# /// bank
# about = "the method is called foward"
# facts = "own"
# extends = "reference"
# names = ["forward_missing"]
# [loses]
# "mlp.formula" = "failed"
# "mlp.position_wise" = "failed"
# ///


class MLP(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.up = nn.Linear(d, 4 * d)
        self.down = nn.Linear(4 * d, d)

    def foward(self, x):
        return self.down(F.gelu(self.up(x)))
