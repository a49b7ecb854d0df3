# /// bank
# about = "post-norm, as in the paper of 2017"
# facts = "M46"
# extends = "reference"
# names = ["block_post_norm"]
# [loses]
# "block.composition" = "partial"
# "block.residual_path" = "failed"
# ///


class Block(nn.Module):
    def __init__(self, d, H, T_max):
        super().__init__()
        self.ln1 = nn.LayerNorm(d)
        self.attn = MultiHeadAttention(d, H, T_max)
        self.ln2 = nn.LayerNorm(d)
        self.mlp = MLP(d)

    def forward(self, x):
        x = self.ln1(x + self.attn(x))
        x = self.ln2(x + self.mlp(x))
        return x
