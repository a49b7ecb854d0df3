# /// bank
# about = "the heads are stacked, moved by transpose and merged by view"
# facts = "own"
# extends = "reference"
# names = ["view_non_contiguous"]
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
        B, T, d = x.shape
        found = torch.stack([head(x) for head in self.heads], dim=1)  # (B, H, T, d_head)
        side_by_side = found.transpose(1, 2).view(B, T, d)
        return self.proj(side_by_side)
