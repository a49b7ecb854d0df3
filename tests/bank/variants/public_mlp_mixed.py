# /// bank
# about = "other mixed layouts"
# extends = "variants/public_base"
# [bonus]
# "bonus.weight_tying" = "not_implemented"
# "bonus.batched_heads" = "not_implemented"
# "bonus.qk_ov" = "not_implemented"
# ///

class MLP(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.w1 = nn.Parameter(torch.randn(d, 4 * d) / math.sqrt(3 * d))
        self.b1 = nn.Parameter(torch.zeros(4 * d))
        self.down = nn.Linear(4 * d, d)

    def forward(self, x):
        return self.down(F.gelu(x @ self.w1 + self.b1))
