# /// bank
# about = "the heads are put together along axis 3 of three axes"
# facts = "own"
# extends = "reference"
# names = ["dim_out_of_range"]
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
        side_by_side = torch.cat([head(x) for head in self.heads], dim=3)
        return self.proj(side_by_side)
