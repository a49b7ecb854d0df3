# /// bank
# about = "MLP: the up-projection's bias is added after GELU"
# facts = "own"
# extends = "reference"
# names = ["mlp_bias_after_activation"]
# [loses]
# "mlp.formula" = "partial"
# ///


class MLP(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.up = nn.Linear(d, 4 * d)
        self.down = nn.Linear(4 * d, d)

    def forward(self, x):
        return self.down(F.gelu(x @ self.up.weight.T) + self.up.bias)
