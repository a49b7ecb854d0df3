# /// bank
# about = "MultiHeadAttention is still the stub, and so is BatchedMultiHeadAttention; all else is written"
# extends = "reference"
# [loses]
# "attention.shape" = "missing"
# "attention.formula" = "missing"
# "attention.heads" = "missing"
# "attention.simplex" = "missing"
# "attention.causal" = "missing"
# "model.training" = "blocked"
# "parameters.total" = "blocked"
# "parameters.other_sizes" = "blocked"
# "parameters.by_part" = "blocked"
# "causality.full_model" = "blocked"
# "causality.past" = "blocked"
# "causality.batch_rows" = "blocked"
# "causality.simplex" = "blocked"
# "initial_loss.window" = "blocked"
# "initial_loss.residual_scaling" = "blocked"
# "shapes.course" = "blocked"
# "shapes.other_sizes" = "blocked"
# "generation.contract" = "blocked"
# "generation.crop" = "blocked"
# "generation.long_prompt" = "blocked"
# "generation.sampling" = "blocked"
# [bonus]
# "bonus.weight_tying" = "blocked"
# "bonus.batched_heads" = "missing"
# "bonus.qk_ov" = "blocked"
# ///


class MultiHeadAttention(nn.Module):
    def __init__(self, d, H, T_max):
        super().__init__()
        # YOUR CODE HERE
        raise NotImplementedError()

    def forward(self, x):
        # YOUR CODE HERE
        raise NotImplementedError()


class BatchedMultiHeadAttention(nn.Module):
    def __init__(self, d, H, T_max):
        super().__init__()
        # YOUR CODE HERE
        raise NotImplementedError()

    def forward(self, x):
        # YOUR CODE HERE
        raise NotImplementedError()
