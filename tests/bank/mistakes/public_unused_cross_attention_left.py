# /// bank
# about = "a part that is made and never used"
# extends = "variants/public_base"
# also = ["parameters_unused"]
# [loses]
# "parameters.total" = "failed"
# "parameters.other_sizes" = "failed"
# "parameters.by_part" = "partial"
# [bonus]
# "bonus.weight_tying" = "not_implemented"
# "bonus.batched_heads" = "not_implemented"
# "bonus.qk_ov" = "not_implemented"
# ///

class Block(nn.Module):
    def __init__(self, d, H, T_max):
        super().__init__()
        self.ln1 = nn.LayerNorm(d)
        self.attn = MultiHeadAttention(d, H, T_max)
        self.ln2 = nn.LayerNorm(d)
        self.mlp = MLP(d)
        self.cross = MultiHeadAttention(d, H, T_max)
        self.ln3 = nn.LayerNorm(d)

    def forward(self, x):
        x = x + self.attn(self.ln1(x))
        x = x + self.mlp(self.ln2(x))
        return x
