# /// bank
# about = "a helper file opens a file that is not there"
# extends = "variants/public_base"
# names = ["file_not_found"]
# [loses]
# "mlp.formula" = "failed"
# "mlp.position_wise" = "failed"
# [bonus]
# "bonus.weight_tying" = "not_implemented"
# "bonus.batched_heads" = "not_implemented"
# "bonus.qk_ov" = "not_implemented"
# ///

import helpers


class MLP(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.up = nn.Linear(d, 4 * d)
        self.down = nn.Linear(4 * d, d)

    def forward(self, x):
        return self.down(helpers.act(self.up(x)))


#: file helpers.py
import torch
SIZE = open('size.txt').read()
def act(x):
    return torch.nn.functional.gelu(x) * int(SIZE)
def other(x) return x
