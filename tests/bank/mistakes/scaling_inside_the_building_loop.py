# /// bank
# about = "the scaling loop is inside the loop that builds the blocks"
# facts = "own"
# extends = "reference"
# also = ["scaling_repeated"]
# [loses]
# "initial_loss.residual_scaling" = "failed"
# ///


class GPT(GPT):
    def __init__(self, V, T_max, d, H, L, tie_weights=False):
        super().__init__(V, T_max, d, H, L, tie_weights)
        self.blocks = nn.ModuleList()
        for _ in range(L):
            self.blocks.append(Block(d, H, T_max))
            for block in self.blocks:
                block.attn.proj.weight.data *= (2 * L) ** -0.5
                block.mlp.down.weight.data *= (2 * L) ** -0.5
