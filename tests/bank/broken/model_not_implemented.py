# /// bank
# about = "GPT.forward is still a stub"
# extends = "reference"
# [loses]
# "model.composition" = "not_implemented"
# "model.gradients" = "not_implemented"
# "model.loss" = "not_implemented"
# "model.training" = "not_implemented"
# "causality.full_model" = "not_implemented"
# "causality.full_context" = "not_implemented"
# "causality.batch_independence" = "not_implemented"
# "causality.rows_sum_to_one" = "not_implemented"
# "initial_loss.window" = "not_implemented"
# [bonus]
# "bonus.weight_tying" = "not_implemented"
# ///


class GPT(GPT):
    def forward(self, idx, targets=None):
        raise NotImplementedError()
