# /// bank
# about = "own LayerNorm that takes mean and variance over the time axis"
# facts = "M41"
# extends = "reference"
# names = ["norm_over_time"]
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
        mean = x.mean(1, keepdim=True)
        var = x.var(1, keepdim=True, unbiased=False)
        return self.gamma * (x - mean) / torch.sqrt(var + self.eps) + self.beta


class Block(nn.Module):
    def __init__(self, d, H, T_max):
        super().__init__()
        self.ln1, self.attn = LayerNorm(d), MultiHeadAttention(d, H, T_max)
        self.ln2, self.mlp = LayerNorm(d), MLP(d)

    def forward(self, x):
        x = x + self.attn(self.ln1(x))
        x = x + self.mlp(self.ln2(x))
        return x
