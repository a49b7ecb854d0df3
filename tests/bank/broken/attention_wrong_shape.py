# /// bank
# about = "MultiHeadAttention.forward returns one feature too few"
# extends = "reference"
# [loses]
# "attention.shape" = "failed"
# "attention.formula" = "failed"
# "attention.heads" = "failed"
# "attention.rows_sum_to_one" = "failed"
# "attention.causal" = "failed"
# "causality.full_model" = "failed"
# "causality.full_context" = "failed"
# "causality.batch_independence" = "failed"
# "causality.rows_sum_to_one" = "failed"
# [bonus]
# "bonus.qk_ov" = "failed"
# ///


class MultiHeadAttention(MultiHeadAttention):
    def forward(self, x):
        out = super().forward(x)
        return out[..., :-1] if torch.is_tensor(out) else (out[0][..., :-1], out[1])
