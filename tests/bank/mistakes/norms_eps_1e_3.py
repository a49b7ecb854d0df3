# /// bank
# about = "nn.LayerNorm with eps=1e-3"
# facts = "M40"
# extends = "reference"
# names = ["norm_eps_1e-3"]
# [loses]
# "block.composition" = "partial"
# ///


class Block(nn.Module):
    def __init__(self, d, H, T_max):
        super().__init__()
        self.ln1 = nn.LayerNorm(d, eps=1e-3)
        self.attn = MultiHeadAttention(d, H, T_max)
        self.ln2 = nn.LayerNorm(d, eps=1e-3)
        self.mlp = MLP(d)

    def forward(self, x):
        x = x + self.attn(self.ln1(x))
        x = x + self.mlp(self.ln2(x))
        return x


class GPT(GPT):
    def __init__(self, V, T_max, d, H, L, tie_weights=False):
        super().__init__(V, T_max, d, H, L, tie_weights)
        self.ln_f = nn.LayerNorm(d, eps=1e-3)
