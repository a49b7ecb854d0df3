# /// bank
# about = "GPT.forward returns one feature too few"
# extends = "reference"
# [loses]
# "model.composition" = "failed"
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
        out = super().forward(idx, targets)
        return out[..., :-1] if torch.is_tensor(out) else (out[0][..., :-1], out[1])
