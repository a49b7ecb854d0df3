# /// bank
# about = "Karpathy's order of the arguments inside: d // H heads of width H"
# facts = "M32"
# extends = "reference"
# names = ["heads_wrong_number"]
# [loses]
# "attention.heads" = "failed"
# [bonus]
# "bonus.qk_ov" = "failed"
# ///


class MultiHeadAttention(nn.Module):
    def __init__(self, d, H, T_max):
        super().__init__()
        assert d % H == 0
        self.heads = nn.ModuleList([Head(d, H, T_max) for _ in range(d // H)])
        self.proj = nn.Linear(d, d)

    def forward(self, x):
        out = torch.cat([h(x) for h in self.heads], dim=-1)
        return self.proj(out)
