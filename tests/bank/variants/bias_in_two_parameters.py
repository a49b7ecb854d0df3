# /// bank
# about = "the last entry of the final LayerNorm's bias is a parameter of its own, without axes"
# facts = "3b"
# extends = "reference"
# [bonus]
# "bonus.weight_tying" = "passed"
# "bonus.batched_heads" = "passed"
# "bonus.qk_ov" = "passed"
# ///


class Norm(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(d))
        self.bias = nn.Parameter(torch.zeros(d - 1))
        self.last = nn.Parameter(torch.tensor(0.0))

    def forward(self, x):
        return F.layer_norm(x, x.shape[-1:], self.weight, torch.cat([self.bias, self.last[None]]))


class GPT(GPT):
    def __init__(self, V, T_max, d, H, L, tie_weights=False):
        super().__init__(V, T_max, d, H, L, tie_weights)
        self.ln_f = Norm(d)
