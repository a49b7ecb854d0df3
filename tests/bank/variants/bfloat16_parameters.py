# /// bank
# about = "all parameters are bfloat16"
# facts = "own"
# extends = "reference"
# ///


class GPT(GPT):
    def __init__(self, V, T_max, d, H, L, tie_weights=False):
        super().__init__(V, T_max, d, H, L, tie_weights)
        self.to(torch.bfloat16)
