# /// bank
# about = "the tied matrix keeps nn.Embedding's N(0, 1): the first loss is far above 4.45"
# facts = "bonus"
# extends = "reference"
# also = ["tied_init_std"]
# [bonus]
# "bonus.weight_tying" = "failed"
# "bonus.batched_heads" = "passed"
# "bonus.qk_ov" = "passed"
# ///


class GPT(GPT):
    def __init__(self, V, T_max, d, H, L, tie_weights=False):
        super().__init__(V, T_max, d, H, L)
        if tie_weights:
            self.lm_head.weight = self.tok_emb.weight
