# /// bank
# about = "nn.Sequential(nn.GELU, ...): classes instead of objects"
# extends = "variants/public_base"
# names = ["not_a_module"]
# [loses]
# "mlp.formula" = "failed"
# "mlp.width" = "failed"
# "mlp.position_wise" = "failed"
# "parameters.total" = "failed"
# "parameters.other_sizes" = "failed"
# "parameters.by_part" = "failed"
# [bonus]
# "bonus.weight_tying" = "not_implemented"
# "bonus.batched_heads" = "not_implemented"
# "bonus.qk_ov" = "not_implemented"
# ///

class MLP(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.act = nn.Sequential(nn.GELU, nn.Dropout(0.0))
        self.up = nn.Linear(d, 4 * d)
        self.down = nn.Linear(4 * d, d)

    def forward(self, x):
        return self.down(F.gelu(self.up(x)))
