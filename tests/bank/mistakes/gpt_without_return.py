# /// bank
# about = "GPT.forward computes the logits and does not return them"
# facts = "own"
# extends = "reference"
# names = ["result_is_none"]
# [loses]
# "model.composition" = "failed"
# "model.gradients" = "failed"
# "model.loss" = "failed"
# "model.training" = "failed"
# "causality.full_model" = "failed"
# "causality.full_context" = "failed"
# "causality.batch_independence" = "failed"
# "causality.rows_sum_to_one" = "failed"
# "initial_loss.window" = "failed"
# [bonus]
# "bonus.weight_tying" = "failed"
# ///


class GPT(GPT):
    def forward(self, idx, targets=None):
        super().forward(idx, targets)
