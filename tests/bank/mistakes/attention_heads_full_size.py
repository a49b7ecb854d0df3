# /// bank
# about = "each head has the full width d; the projection takes H * d to d"
# facts = "M24"
# extends = "reference"
# names = ["heads_full_width"]
# [loses]
# "attention.heads" = "failed"
# "parameters.total" = "failed"
# "parameters.other_sizes" = "failed"
# "parameters.by_part" = "partial"
# [bonus]
# "bonus.qk_ov" = "failed"
# ///


class MultiHeadAttention(nn.Module):
    def __init__(self, d, H, T_max):
        super().__init__()
        assert d % H == 0
        self.heads = nn.ModuleList([Head(d, d, T_max) for _ in range(H)])
        self.proj = nn.Linear(H * d, d)

    def forward(self, x):
        out = torch.cat([h(x) for h in self.heads], dim=-1)
        return self.proj(out)
