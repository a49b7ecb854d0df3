# /// bank
# about = "MultiHeadAttention.forward is still a stub"
# extends = "reference"
# [loses]
# "attention.shape" = "not_implemented"
# "attention.formula" = "not_implemented"
# "attention.heads" = "not_implemented"
# "attention.rows_sum_to_one" = "not_implemented"
# "attention.causal" = "not_implemented"
# "causality.full_model" = "blocked"
# "causality.full_context" = "blocked"
# "causality.batch_independence" = "blocked"
# "causality.rows_sum_to_one" = "blocked"
# [bonus]
# "bonus.qk_ov" = "blocked"
# ///


class MultiHeadAttention(MultiHeadAttention):
    def forward(self, x):
        raise NotImplementedError()
