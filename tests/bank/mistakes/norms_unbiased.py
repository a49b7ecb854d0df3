# /// bank
# about = "the student's own LayerNorm divides by the unbiased deviation"
# facts = "M38"
# extends = "reference"
# names = ["norm_unbiased"]
# [loses]
# "block.composition" = "partial"
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
        x = x + self.attn(self.ln1(x))
        x = x + self.mlp(self.ln2(x))
        return x


class GPT(GPT):
    def __init__(self, V, T_max, d, H, L, tie_weights=False):
        super().__init__(V, T_max, d, H, L, tie_weights)
        self.ln_f = LayerNorm(d)
