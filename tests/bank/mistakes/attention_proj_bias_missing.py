# /// bank
# about = "the output projection has no bias"
# facts = "own"
# extends = "reference"
# names = ["attention_proj_bias_missing"]
# [loses]
# "attention.formula" = "partial"
# "parameters.total" = "failed"
# "parameters.other_sizes" = "failed"
# "parameters.by_part" = "partial"
# ///


class MultiHeadAttention(nn.Module):
    def __init__(self, d, H, T_max):
        super().__init__()
        assert d % H == 0
        self.heads = nn.ModuleList([Head(d, d // H, T_max) for _ in range(H)])
        self.proj = nn.Linear(d, d, bias=False)

    def forward(self, x):
        out = torch.cat([h(x) for h in self.heads], dim=-1)
        return self.proj(out)
