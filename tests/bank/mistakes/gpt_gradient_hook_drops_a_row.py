# /// bank
# about = "a hook sets one row of the gradient to zero"
# facts = "own"
# extends = "reference"
# names = ["row_without_gradient"]
# [loses]
# "model.gradients" = "failed"
# ///


class GPT(GPT):
    def __init__(self, V, T_max, d, H, L, tie_weights=False):
        super().__init__(V, T_max, d, H, L, tie_weights)
        self.lm_head.weight.register_hook(lambda g: g * (torch.arange(V) != 3)[:, None])
