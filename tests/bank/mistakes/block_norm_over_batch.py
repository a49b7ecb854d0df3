# /// bank
# about = "own LayerNorm that takes mean and variance over the batch axis"
# facts = "M41"
# extends = "reference"
# names = ["norm_over_batch"]
# [loses]
# "block.composition" = "partial"
# "causality.batch_independence" = "failed"
# ///


class LayerNorm(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(d))
        self.bias = nn.Parameter(torch.zeros(d))

    def forward(self, x):
        mean = x.mean(dim=0)
        var = x.var(dim=0, unbiased=False)
        return (x - mean) / torch.sqrt(var + 1e-5) * self.weight + self.bias


class Block(nn.Module):
    def __init__(self, d, H, T_max):
        super().__init__()
        self.ln1, self.attn = LayerNorm(d), MultiHeadAttention(d, H, T_max)
        self.ln2, self.mlp = LayerNorm(d), MLP(d)

    def forward(self, x):
        x = x + self.attn(self.ln1(x))
        x = x + self.mlp(self.ln2(x))
        return x
