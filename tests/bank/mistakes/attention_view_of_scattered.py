# /// bank
# about = "the heads are stacked, moved by transpose and merged by view"
# facts = "own"
# extends = "reference"
# names = ["view_of_scattered"]
# [loses]
# "attention.shape" = "failed"
# "attention.formula" = "failed"
# "attention.heads" = "failed"
# "attention.simplex" = "failed"
# "attention.causal" = "failed"
# "model.training" = "failed"
# "causality.full_model" = "failed"
# "causality.past" = "failed"
# "causality.batch_rows" = "failed"
# "causality.simplex" = "failed"
# "initial_loss.window" = "failed"
# "shapes.course" = "failed"
# "shapes.other_sizes" = "failed"
# "generation.contract" = "failed"
# "generation.crop" = "failed"
# "generation.long_prompt" = "failed"
# "generation.sampling" = "failed"
# [bonus]
# "bonus.weight_tying" = "failed"
# "bonus.qk_ov" = "failed"
# ///


class MultiHeadAttention(MultiHeadAttention):
    def forward(self, x):
        B, T, d = x.shape
        found = torch.stack([head(x) for head in self.heads], dim=1)  # (B, H, T, d_head)
        side_by_side = found.transpose(1, 2).view(B, T, d)
        return self.proj(side_by_side)
