# /// bank
# about = "a ReLU after the output projection"
# facts = "M20"
# extends = "reference"
# names = ["projection_relu"]
# [loses]
# "attention.formula" = "partial"
# ///


class MultiHeadAttention(nn.Module):
    def __init__(self, d, H, T_max):
        super().__init__()
        assert d % H == 0
        self.heads = nn.ModuleList([Head(d, d // H, T_max) for _ in range(H)])
        self.proj = nn.Linear(d, d)

    def forward(self, x):
        out = torch.cat([h(x) for h in self.heads], dim=-1)
        return F.relu(self.proj(out))
