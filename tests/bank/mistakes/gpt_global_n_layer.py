# /// bank
# about = "the number of blocks is a global, not the constructor's L"
# facts = "M72"
# extends = "reference"
# names = ["blocks_wrong_number"]
# also = ["sizes_hard_coded", "scaling_constant"]
# [loses]
# "model.composition" = "partial"
# "parameters.other_sizes" = "failed"
# "initial_loss.residual_scaling" = "failed"
# ///


n_layer = 4


class GPT(GPT):
    def __init__(self, V, T_max, d, H, L, tie_weights=False):
        super().__init__(V, T_max, d, H, n_layer, tie_weights)
