# /// bank
# about = "a method compiled in the constructor"
# extends = "variants/public_base"
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
        self.run = torch.compile(self._run, dynamic=True)

    def forward(self, x):
        return self.run(x)

    def _run(self, x):
        return self.down(F.gelu(self.up(x)))
