# /// bank
# about = "a parameter without entries, whose other axis is longer than any array can be"
# facts = "19"
# extends = "reference"
# [loses]
# "model.composition" = "crashed"
# "model.gradients" = "crashed"
# "model.loss" = "crashed"
# "model.training" = "crashed"
# "parameters.total" = "crashed"
# "parameters.other_sizes" = "crashed"
# "parameters.by_part" = "crashed"
# "causality.full_model" = "crashed"
# "causality.full_context" = "crashed"
# "causality.batch_independence" = "crashed"
# "causality.rows_sum_to_one" = "crashed"
# "initial_loss.window" = "crashed"
# "initial_loss.residual_scaling" = "crashed"
# [bonus]
# "bonus.weight_tying" = "crashed"
# ///


class GPT(GPT):
    def __init__(self, V, T_max, d, H, L, tie_weights=False):
        super().__init__(V, T_max, d, H, L, tie_weights)
        self.none = nn.Parameter(torch.zeros(0, 2**62 - 1))
