# /// bank
# about = "divided by the variance plus eps, without the root"
# facts = "own"
# extends = "reference"
# names = ["norm_divides_by_variance"]
# [loses]
# "block.composition" = "partial"
# ///


class LayerNorm(nn.Module):
    def __init__(self, d, eps=1e-5):
        super().__init__()
        self.g = nn.Parameter(torch.ones(d))
        self.b = nn.Parameter(torch.zeros(d))
        self.eps = eps

    def forward(self, x):
        var, mean = torch.var_mean(x, dim=-1, keepdim=True, unbiased=False)
        return (x - mean) / (var + self.eps) * self.g + self.b


class Block(Block):
    def __init__(self, d, H, T_max):
        super().__init__(d, H, T_max)
        self.ln1 = LayerNorm(d)
        self.ln2 = LayerNorm(d)


class GPT(GPT):
    def __init__(self, V, T_max, d, H, L, tie_weights=False):
        super().__init__(V, T_max, d, H, L, tie_weights)
        self.ln_f = LayerNorm(d)
