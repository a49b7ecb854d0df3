# /// bank
# about = "the final LayerNorm has no gain and bias"
# facts = "own"
# extends = "reference"
# names = ["norm_without_affine"]
# [loses]
# "model.composition" = "partial"
# "parameters.total" = "failed"
# "parameters.other_sizes" = "failed"
# "parameters.by_part" = "partial"
# ///


class GPT(GPT):
    def __init__(self, V, T_max, d, H, L, tie_weights=False):
        super().__init__(V, T_max, d, H, L, tie_weights)
        self.ln_f = nn.LayerNorm(d, elementwise_affine=False)
