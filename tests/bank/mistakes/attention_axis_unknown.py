# /// bank
# about = "the heads are put together along axis 3 of three axes"
# facts = "own"
# extends = "reference"
# names = ["axis_unknown"]
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
        side_by_side = torch.cat([head(x) for head in self.heads], dim=3)
        return self.proj(side_by_side)
