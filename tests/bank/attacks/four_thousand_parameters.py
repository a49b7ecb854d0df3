# /// bank
# about = "GPT has more parameters than fit into one message"
# facts = "19"
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
# "initial_loss.residual_scaling" = "failed"
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
        self.more = nn.ParameterList(nn.Parameter(torch.zeros(1)) for _ in range(4200))
