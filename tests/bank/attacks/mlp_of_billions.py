# /// bank
# about = "MLP lists an expanded tensor of billions of entries, which takes no memory"
# facts = "own"
# extends = "reference"
# [loses]
# "mlp.formula" = "failed"
# "mlp.width" = "failed"
# "mlp.position_wise" = "failed"
# "block.composition" = "failed"
# "block.residual_path" = "failed"
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


class MLP(MLP):
    def __init__(self, *arguments):
        super().__init__(*arguments)
        self.extra = nn.Parameter(torch.zeros(1).expand(1 << 30), requires_grad=False)
