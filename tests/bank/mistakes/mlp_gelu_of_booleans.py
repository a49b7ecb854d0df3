# /// bank
# about = "GELU of a comparison: torch raises NotImplementedError for booleans"
# extends = "variants/public_base"
# names = ["integer_dtype"]
# [loses]
# "mlp.formula" = "failed"
# "mlp.position_wise" = "failed"
# [bonus]
# "bonus.weight_tying" = "not_implemented"
# "bonus.batched_heads" = "not_implemented"
# "bonus.qk_ov" = "not_implemented"
# ///

class MLP(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.up = nn.Linear(d, 4 * d)
        self.down = nn.Linear(4 * d, d)

    def forward(self, x):
        return self.down(F.gelu(self.up(x) > 0))
