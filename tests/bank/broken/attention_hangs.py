# /// bank
# about = "MultiHeadAttention.forward never returns"
# extends = "reference"
# [loses]
# "attention.shape" = "timeout"
# "attention.formula" = "timeout"
# "attention.heads" = "timeout"
# "attention.rows_sum_to_one" = "timeout"
# "attention.causal" = "timeout"
# "causality.full_model" = "timeout"
# "causality.full_context" = "timeout"
# "causality.batch_independence" = "timeout"
# "causality.rows_sum_to_one" = "timeout"
# [bonus]
# "bonus.qk_ov" = "timeout"
# ///


class MultiHeadAttention(MultiHeadAttention):
    def forward(self, x):
        while x is not None:
            pass
