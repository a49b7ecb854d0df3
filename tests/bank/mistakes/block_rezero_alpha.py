# /// bank
# about = "a learned scalar: nn.Parameter(torch.tensor(1.0))"
# extends = "variants/public_base"
# also = ["scalar_extra"]
# [loses]
# "block.composition" = "failed"
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
        self.alpha = nn.Parameter(torch.tensor(0.0))

    def forward(self, x):
        x = x + self.alpha * self.attn(self.ln1(x))
        x = x + self.alpha * self.mlp(self.ln2(x))
        return x
