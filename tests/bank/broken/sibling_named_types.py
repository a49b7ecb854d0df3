# /// bank
# about = "a helper file has the name of a module of Python"
# extends = "variants/public_base"
# names = ["library_module_imported"]
# [loses]
# "mlp.formula" = "failed"
# "mlp.position_wise" = "failed"
# [bonus]
# "bonus.weight_tying" = "not_implemented"
# "bonus.batched_heads" = "not_implemented"
# "bonus.qk_ov" = "not_implemented"
# ///

from types import act


class MLP(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.up = nn.Linear(d, 4 * d)
        self.down = nn.Linear(4 * d, d)

    def forward(self, x):
        return self.down(act(self.up(x)))


#: file types.py
def act(x):
    return x
