# /// bank
# about = "each block is scaled by the number of blocks up to itself"
# facts = "own"
# extends = "reference"
# unnamed = "one of several ways in which blocks differ"
# [loses]
# "initial_loss.residual_scaling" = "failed"
# ///


class GPT(GPT):
    def __init__(self, V, T_max, d, H, L, tie_weights=False):
        super().__init__(V, T_max, d, H, L, tie_weights)
        for block in self.blocks:
            block.attn.proj.reset_parameters()
            block.mlp.down.reset_parameters()
        for number, block in enumerate(self.blocks, start=1):
            block.attn.proj.weight.data /= math.sqrt(2 * number)
            block.mlp.down.weight.data /= math.sqrt(2 * number)
