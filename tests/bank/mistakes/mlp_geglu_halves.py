# /// bank
# about = "GEGLU by halves"
# extends = "variants/public_base"
# unnamed = "GEGLU is another MLP"
# [loses]
# "mlp.formula" = "failed"
# "mlp.width" = "failed"
# "parameters.total" = "failed"
# "parameters.other_sizes" = "failed"
# "parameters.by_part" = "partial"
# [bonus]
# "bonus.weight_tying" = "not_implemented"
# "bonus.batched_heads" = "not_implemented"
# "bonus.qk_ov" = "not_implemented"
# ///

class MLP(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.up = nn.Linear(d, 4 * d)
        self.down = nn.Linear(2 * d, d)

    def forward(self, x):
        a, b = self.up(x).chunk(2, dim=-1)
        return self.down(a * F.gelu(b))
