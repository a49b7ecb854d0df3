# /// bank
# about = "the number of blocks is a global, not the constructor's L"
# facts = "M72"
# extends = "reference"
# [loses]
# "parameters.other_sizes" = "failed"
# "initial_loss.residual_scaling" = "failed"
# [bonus]
# "bonus.weight_tying" = "passed"
# "bonus.batched_heads" = "passed"
# "bonus.qk_ov" = "passed"
# ///


n_layer = 4


class GPT(GPT):
    def __init__(self, V, T_max, d, H, L, tie_weights=False):
        super().__init__(V, T_max, d, H, n_layer, tie_weights)
