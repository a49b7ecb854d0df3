# /// bank
# about = "the result of the attention is not kept"
# facts = "own"
# extends = "reference"
# names = ["block_no_attention"]
# [loses]
# "block.composition" = "partial"
# "causality.full_context" = "failed"
# ///


class Block(nn.Module):
    def __init__(self, d, H, T_max):
        super().__init__()
        self.ln1 = nn.LayerNorm(d)
        self.attn = MultiHeadAttention(d, H, T_max)
        self.ln2 = nn.LayerNorm(d)
        self.mlp = MLP(d)

    def forward(self, x):
        self.attn(self.ln1(x))
        x = x + self.mlp(self.ln2(x))
        return x
