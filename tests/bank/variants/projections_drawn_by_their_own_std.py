# /// bank
# about = "GPT draws the two residual projections alone, from a normal distribution of std 0.03 / sqrt(2L)"
# facts = "3b"
# extends = "reference"
# ///


class GPT(GPT):
    def __init__(self, V, T_max, d, H, L, tie_weights=False):
        super().__init__(V, T_max, d, H, L, tie_weights)
        for block in self.blocks:
            nn.init.normal_(block.attn.proj.weight, std=0.03 / math.sqrt(2 * L))
            nn.init.normal_(block.mlp.down.weight, std=0.03 / math.sqrt(2 * L))
