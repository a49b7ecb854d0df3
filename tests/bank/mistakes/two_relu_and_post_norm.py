# /// bank
# about = "two mistakes: ReLU in the MLP, post-norm in the block"
# facts = "M35, M46"
# extends = "reference"
# names = ["mlp_relu", "block_post_norm"]
# [loses]
# "mlp.formula" = "partial"
# "block.composition" = "partial"
# "block.residual_path" = "failed"
# ///


class MLP(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.up = nn.Linear(d, 4 * d)
        self.down = nn.Linear(4 * d, d)

    def forward(self, x):
        return self.down(F.relu(self.up(x)))


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
