# /// bank
# about = "an own LayerNorm with a bias, but no gain"
# facts = "own"
# extends = "reference"
# names = ["norm_gain_missing"]
# [loses]
# "block.composition" = "partial"
# "parameters.total" = "failed"
# "parameters.other_sizes" = "failed"
# "parameters.by_part" = "failed"
# ///


class LayerNorm(nn.Module):
    def __init__(self, d, eps=1e-5):
        super().__init__()
        self.shift = nn.Parameter(torch.zeros(d))
        self.eps = eps

    def forward(self, x):
        centred = x - x.mean(dim=-1, keepdim=True)
        variance = centred.pow(2).mean(dim=-1, keepdim=True)
        return centred / torch.sqrt(variance + self.eps) + self.shift


class Block(Block):
    def __init__(self, d, H, T_max):
        super().__init__(d, H, T_max)
        self.ln1 = LayerNorm(d)
        self.ln2 = LayerNorm(d)


class GPT(GPT):
    def __init__(self, V, T_max, d, H, L, tie_weights=False):
        super().__init__(V, T_max, d, H, L, tie_weights)
        self.ln_f = LayerNorm(d)
