# /// bank
# about = "the gain of the final LayerNorm is an expanded tensor"
# facts = "own"
# extends = "reference"
# [loses]
# "model.training" = "failed"
# ///


class GPT(GPT):
    def __init__(self, V, T_max, d, H, L, tie_weights=False):
        super().__init__(V, T_max, d, H, L, tie_weights)
        self.ln_f.weight = nn.Parameter(torch.ones(1).expand(d))
