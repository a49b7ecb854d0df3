# /// bank
# about = "x sigmoid(1.702 x), OpenAI's quick GELU"
# facts = "M35"
# extends = "reference"
# names = ["mlp_gelu_sigmoid"]
# [loses]
# "mlp.formula" = "partial"
# ///


class MLP(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.up = nn.Linear(d, 4 * d)
        self.down = nn.Linear(4 * d, d)

    def forward(self, x):
        h = self.up(x)
        return self.down(h * torch.sigmoid(1.702 * h))
