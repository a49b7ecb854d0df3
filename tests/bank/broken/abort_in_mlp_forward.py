# /// bank
# about = "the process dies in MLP.forward; everything that never runs an MLP is untouched"
# extends = "reference"
# [loses]
# "mlp.formula" = "crashed"
# "mlp.position_wise" = "crashed"
# ///


import ctypes


class MLP(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.up = nn.Linear(d, 4 * d)
        self.down = nn.Linear(4 * d, d)

    def forward(self, x):
        # reuse the memory of the hidden layer
        hidden = self.up(x)
        ctypes.memset(0, 0, hidden.numel() * 4)
        return self.down(F.gelu(hidden))
