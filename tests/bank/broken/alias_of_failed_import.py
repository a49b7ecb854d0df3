# /// bank
# about = "a name that depends on a failed import"
# extends = "variants/public_base"
# names = ["module_not_found"]
# [loses]
# "mlp.formula" = "failed"
# "mlp.position_wise" = "failed"
# [bonus]
# "bonus.weight_tying" = "not_implemented"
# "bonus.batched_heads" = "not_implemented"
# "bonus.qk_ov" = "not_implemented"
# ///

from einops_missing import rearrange
re = rearrange


class MLP(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.up = nn.Linear(d, 4 * d)
        self.down = nn.Linear(4 * d, d)

    def forward(self, x):
        return self.down(F.gelu(re(self.up(x), 'b t d -> b t d')))
