# /// bank
# about = "the mean is subtracted, and nothing is divided"
# facts = "own"
# extends = "reference"
# names = ["norm_not_scaled"]
# [loses]
# "block.composition" = "partial"
# "initial_loss.window" = "failed"
# ///


class LayerNorm(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(d))
        self.bias = nn.Parameter(torch.zeros(d))

    def forward(self, x):
        return self.weight * (x - x.mean(-1, keepdim=True)) + self.bias


class Block(Block):
    def __init__(self, d, H, T_max):
        super().__init__(d, H, T_max)
        self.ln1 = LayerNorm(d)
        self.ln2 = LayerNorm(d)


class GPT(GPT):
    def __init__(self, V, T_max, d, H, L, tie_weights=False):
        super().__init__(V, T_max, d, H, L, tie_weights)
        self.ln_f = LayerNorm(d)
