# /// bank
# about = "the loop over the blocks starts at the second"
# facts = "own"
# extends = "reference"
# unnamed = "one of several ways in which blocks differ"
# [loses]
# "initial_loss.residual_scaling" = "failed"
# ///


class GPT(GPT):
    def __init__(self, V, T_max, d, H, L, tie_weights=False):
        super().__init__(V, T_max, d, H, L, tie_weights)
        self.blocks[0].attn.proj.reset_parameters()
        self.blocks[0].mlp.down.reset_parameters()
