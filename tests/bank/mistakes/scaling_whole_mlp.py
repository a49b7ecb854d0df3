# /// bank
# about = "both linear layers of the MLP are scaled"
# facts = "own"
# extends = "reference"
# also = ["scaling_of_other_matrices"]
# [loses]
# "initial_loss.residual_scaling" = "failed"
# ///


class GPT(GPT):
    def __init__(self, V, T_max, d, H, L, tie_weights=False):
        super().__init__(V, T_max, d, H, L, tie_weights)
        for block in self.blocks:
            block.mlp.up.weight.data /= math.sqrt(2 * L)
