# /// bank
# about = "the number of heads is 4, whatever H is: right at the course configuration"
# facts = "M32"
# extends = "reference"
# names = ["heads_wrong_number"]
# also = ["sizes_hard_coded"]
# [loses]
# "attention.heads" = "failed"
# "parameters.other_sizes" = "failed"
# [bonus]
# "bonus.qk_ov" = "failed"
# ///


class MultiHeadAttention(nn.Module):
    def __init__(self, d, H, T_max):
        super().__init__()
        self.heads = nn.ModuleList([Head(d, d // 4, T_max) for _ in range(4)])
        self.proj = nn.Linear(d, d)

    def forward(self, x):
        out = torch.cat([h(x) for h in self.heads], dim=-1)
        return self.proj(out)
