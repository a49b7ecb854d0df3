# /// bank
# about = "the projections are scaled by 1/sqrt(2L) for 1 and for 4 blocks, and for no other number"
# extends = "reference"
# also = []
# [loses]
# "initial_loss.residual_scaling" = "failed"
# ///


class GPT(GPT):
    def __init__(self, V, T_max, d, H, L, tie_weights=False):
        super().__init__(V, T_max, d, H, L, tie_weights)
        if L not in (1, 4):
            for block in self.blocks:
                block.attn.proj.reset_parameters()
                block.mlp.down.reset_parameters()
