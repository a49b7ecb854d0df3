# /// bank
# about = "the unembedding is a transposed tensor"
# facts = "own"
# extends = "reference"
# ///


class GPT(GPT):
    def __init__(self, V, T_max, d, H, L, tie_weights=False):
        super().__init__(V, T_max, d, H, L, tie_weights)
        if tie_weights:
            return
        self.lm_head.weight = nn.Parameter(torch.empty(d, V).uniform_(-(d**-0.5), d**-0.5).t())
