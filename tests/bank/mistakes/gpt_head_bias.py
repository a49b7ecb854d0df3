# /// bank
# about = "the unembedding has a bias"
# facts = "M63"
# extends = "reference"
# names = ["head_bias"]
# [loses]
# "model.composition" = "partial"
# "parameters.total" = "failed"
# "parameters.other_sizes" = "failed"
# "parameters.by_part" = "partial"
# ///


class GPT(GPT):
    def __init__(self, V, T_max, d, H, L, tie_weights=False):
        super().__init__(V, T_max, d, H, L, tie_weights)
        self.lm_head = nn.Linear(d, V)
        if tie_weights:
            self.lm_head.weight = self.tok_emb.weight
