# /// bank
# about = "both residual projections start at zero, so other gradients are zero in the first step"
# facts = "own"
# extends = "reference"
# ///


class GPT(GPT):
    def __init__(self, V, T_max, d, H, L, tie_weights=False):
        super().__init__(V, T_max, d, H, L, tie_weights)
        for block in self.blocks:
            nn.init.zeros_(block.attn.proj.weight)
            nn.init.zeros_(block.mlp.down.weight)
