# /// bank
# about = "an MLP so wide that each comparison of the oracle takes long, with an activation that is no known mistake"
# facts = "19"
# extends = "reference"
# names = ["mlp_width"]
# [loses]
# "mlp.formula" = "failed"
# "mlp.width" = "failed"
# "parameters.other_sizes" = "failed"
# ///


class MLP(nn.Module):
    def __init__(self, d):
        super().__init__()
        width = 8_000 if d == 24 else 4 * d
        self.up = nn.Linear(d, width)
        self.down = nn.Linear(width, d)

    def forward(self, x):
        return self.down(torch.tanh(self.up(x)).sin())
