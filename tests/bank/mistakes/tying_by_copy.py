# /// bank
# about = "tying copies the values: two parameters that start alike"
# facts = "M67"
# extends = "reference"
# also = ["tied_by_copy"]
# [bonus]
# "bonus.weight_tying" = "failed"
# "bonus.batched_heads" = "passed"
# "bonus.qk_ov" = "passed"
# ///


class GPT(GPT):
    def __init__(self, V, T_max, d, H, L, tie_weights=False):
        super().__init__(V, T_max, d, H, L)
        if tie_weights:
            nn.init.normal_(self.tok_emb.weight, std=0.02)
            with torch.no_grad():
                self.lm_head.weight.copy_(self.tok_emb.weight)
