# /// bank
# about = "mean and variance over positions and features together"
# facts = "own"
# extends = "reference"
# names = ["norm_over_both"]
# [loses]
# "block.composition" = "partial"
# "causality.full_model" = "failed"
# ///


class LayerNorm(nn.Module):
    def __init__(self, d, eps=1e-5):
        super().__init__()
        self.gamma = nn.Parameter(torch.ones(d))
        self.beta = nn.Parameter(torch.zeros(d))
        self.eps = eps

    def forward(self, x):
        mean = x.mean(dim=(1, 2), keepdim=True)
        var = ((x - mean) ** 2).mean(dim=(1, 2), keepdim=True)
        return self.gamma * (x - mean) / (var + self.eps).sqrt() + self.beta


class Block(Block):
    def __init__(self, d, H, T_max):
        super().__init__(d, H, T_max)
        self.ln1 = LayerNorm(d)
        self.ln2 = LayerNorm(d)


class GPT(GPT):
    def __init__(self, V, T_max, d, H, L, tie_weights=False):
        super().__init__(V, T_max, d, H, L, tie_weights)
        self.ln_f = LayerNorm(d)
