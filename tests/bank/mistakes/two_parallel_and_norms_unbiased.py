# /// bank
# about = "two mistakes in one class: parallel sublayers, and an unbiased LayerNorm of the student's own in the block"
# facts = "M48, M38"
# extends = "reference"
# names = ["block_parallel", "norm_unbiased"]
# [loses]
# "block.composition" = "failed"
# ///


class LayerNorm(nn.Module):
    def __init__(self, d, eps=1e-5):
        super().__init__()
        self.gain = nn.Parameter(torch.ones(d))
        self.bias = nn.Parameter(torch.zeros(d))
        self.eps = eps

    def forward(self, x):
        mean = x.mean(-1, keepdim=True)
        var = x.var(-1, keepdim=True)
        return self.gain * (x - mean) / torch.sqrt(var + self.eps) + self.bias


class Block(nn.Module):
    def __init__(self, d, H, T_max):
        super().__init__()
        self.ln1 = LayerNorm(d)
        self.attn = MultiHeadAttention(d, H, T_max)
        self.ln2 = LayerNorm(d)
        self.mlp = MLP(d)

    def forward(self, x):
        return x + self.attn(self.ln1(x)) + self.mlp(self.ln2(x))
