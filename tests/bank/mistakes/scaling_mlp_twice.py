# /// bank
# about = "the MLP's second linear layer is scaled a second time, by 1/sqrt(2)"
# facts = "own"
# extends = "reference"
# also = ["scaling_wrong_constant"]
# [loses]
# "initial_loss.residual_scaling" = "partial"
# ///


class GPT(GPT):
    def __init__(self, V, T_max, d, H, L, tie_weights=False):
        super().__init__(V, T_max, d, H, L, tie_weights)
        for block in self.blocks:
            block.mlp.down.weight.data /= math.sqrt(2)
