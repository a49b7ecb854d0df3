# /// bank
# about = "parameters and methods have names that are long, cannot be printed, or are formulas and markup"
# facts = "21"
# extends = "reference"
# [loses]
# "model.composition" = "failed"
# "model.gradients" = "failed"
# "model.loss" = "failed"
# "model.training" = "failed"
# "parameters.total" = "failed"
# "parameters.other_sizes" = "failed"
# "parameters.by_part" = "partial"
# "causality.full_model" = "failed"
# "causality.full_context" = "failed"
# "causality.batch_independence" = "failed"
# "causality.rows_sum_to_one" = "failed"
# "initial_loss.window" = "failed"
# "generation.output_shape" = "failed"
# "generation.crop" = "failed"
# "generation.long_prompt" = "failed"
# "generation.sampling" = "failed"
# [bonus]
# "bonus.weight_tying" = "failed"
# ///


class GPT(GPT):
    def __init__(self, V, T_max, d, H, L, tie_weights=False):
        super().__init__(V, T_max, d, H, L, tie_weights)
        for name in ("\x1b[31mred", "\u202etxt", "<script>alert(1)</script>", "=1+1", "\ud800", "x" * 5000, "\0"):
            self._parameters[name] = nn.Parameter(torch.zeros(3, 3))


setattr(GPT, "\x1b[2J" + "y" * 100000, lambda self: None)
