# /// bank
# about = "the unembedding has requires_grad=False"
# facts = "own"
# extends = "reference"
# names = ["parameter_frozen"]
# [loses]
# "model.gradients" = "failed"
# [bonus]
# "bonus.weight_tying" = "failed"
# ///


class GPT(GPT):
    def __init__(self, V, T_max, d, H, L, tie_weights=False):
        super().__init__(V, T_max, d, H, L, tie_weights)
        self.lm_head.weight.requires_grad_(False)
