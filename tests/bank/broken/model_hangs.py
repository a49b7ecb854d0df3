# /// bank
# about = "GPT.forward never returns"
# extends = "reference"
# [loses]
# "model.composition" = "timeout"
# "model.gradients" = "timeout"
# "model.loss" = "timeout"
# "model.training" = "timeout"
# "causality.full_model" = "timeout"
# "causality.full_context" = "timeout"
# "causality.batch_independence" = "timeout"
# "causality.rows_sum_to_one" = "timeout"
# "initial_loss.window" = "timeout"
# [bonus]
# "bonus.weight_tying" = "timeout"
# ///


class GPT(GPT):
    def forward(self, idx, targets=None):
        while idx is not None:
            pass
