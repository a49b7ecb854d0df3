# /// bank
# about = "the loop scales every matrix of the blocks"
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
            block.attn.proj.reset_parameters()
            block.mlp.down.reset_parameters()
            for p in block.parameters():
                if p.dim() > 1:
                    p.data *= (2 * L) ** -0.5
