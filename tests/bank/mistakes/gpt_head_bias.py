# /// bank
# about = "the unembedding has a bias"
# facts = "M63"
# extends = "reference"
# [loses]
# "parameters.total" = "failed"
# "parameters.other_sizes" = "failed"
# "parameters.by_part" = "partial"
# [bonus]
# "bonus.weight_tying" = "passed"
# "bonus.batched_heads" = "passed"
# "bonus.qk_ov" = "passed"
# ///


class GPT(GPT):
    def __init__(self, V, T_max, d, H, L, tie_weights=False):
        super().__init__(V, T_max, d, H, L, tie_weights)
        self.lm_head = nn.Linear(d, V)
        if tie_weights:
            self.lm_head.weight = self.tok_emb.weight
