# /// bank
# about = "scaled by 1/sqrt(3L)"
# facts = "own"
# extends = "reference"
# also = ["scaling_wrong_constant"]
# [loses]
# "initial_loss.residual_scaling" = "failed"
# ///


class GPT(GPT):
    def __init__(self, V, T_max, d, H, L, tie_weights=False):
        super().__init__(V, T_max, d, H, L, tie_weights)
        for block in self.blocks:
            block.attn.proj.reset_parameters()
            block.mlp.down.reset_parameters()
            block.attn.proj.weight.data /= math.sqrt(3 * L)
            block.mlp.down.weight.data /= math.sqrt(3 * L)
