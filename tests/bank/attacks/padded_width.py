# /// bank
# about = "the MLP is d wide, padded with parameters to the size of one that is 4d wide"
# facts = "20"
# extends = "reference"
# [loses]
# "mlp.formula" = "failed"
# ///


class MLP(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.d = d
        self.up = nn.Linear(d, 4 * d)
        self.down = nn.Linear(4 * d, d)

    def forward(self, x):
        hidden = F.gelu(self.up(x))
        keep = torch.arange(4 * self.d) < self.d
        return self.down(torch.where(keep, hidden, 0 * hidden))
