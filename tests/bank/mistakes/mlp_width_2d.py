# /// bank
# about = "MLP: hidden width 2d instead of 4d"
# facts = "M36"
# extends = "reference"
# names = ["mlp_width"]
# [loses]
# "mlp.width" = "failed"
# "parameters.total" = "failed"
# "parameters.other_sizes" = "failed"
# "parameters.by_part" = "partial"
# ///


class MLP(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.up = nn.Linear(d, 2 * d)
        self.down = nn.Linear(2 * d, d)

    def forward(self, x):
        return self.down(F.gelu(self.up(x)))
