# /// bank
# about = "the constructor writes a file in /tmp"
# extends = "variants/public_base"
# [bonus]
# "bonus.weight_tying" = "not_implemented"
# "bonus.batched_heads" = "not_implemented"
# "bonus.qk_ov" = "not_implemented"
# ///

class MLP(nn.Module):
    def __init__(self, d):
        super().__init__()
        with open('/tmp/mlp.log', 'w') as f:
            f.write(str(d))
        self.up = nn.Linear(d, 4 * d)
        self.down = nn.Linear(4 * d, d)

    def forward(self, x):
        return self.down(F.gelu(self.up(x)))
