# /// bank
# about = "each head is given its own slice of the input, of width d_head"
# facts = "M18"
# extends = "reference"
# names = ["heads_slice_input"]
# [loses]
# "attention.formula" = "failed"
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
        self.heads = nn.ModuleList([Head(d // H, d // H, T_max) for _ in range(H)])
        self.proj = nn.Linear(d, d)

    def forward(self, x):
        out = torch.cat([h(part) for h, part in zip(self.heads, x.chunk(len(self.heads), dim=-1))], dim=-1)
        return self.proj(out)
