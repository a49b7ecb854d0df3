# /// bank
# about = "the number of heads is 2, whatever H is"
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
        self.heads = nn.ModuleList([Head(d, d // 2, T_max) for _ in range(2)])
        self.proj = nn.Linear(d, d)

    def forward(self, x):
        out = torch.cat([h(x) for h in self.heads], dim=-1)
        return self.proj(out)
