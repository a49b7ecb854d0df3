# /// bank
# about = "MultiHeadAttention is still the stub, and so is BatchedMultiHeadAttention; all else is written"
# extends = "reference"
# [loses]
# "attention.shape" = "not_implemented"
# "attention.formula" = "not_implemented"
# "attention.heads" = "not_implemented"
# "attention.rows_sum_to_one" = "not_implemented"
# "attention.causal" = "not_implemented"
# "parameters.total" = "blocked"
# "parameters.other_sizes" = "blocked"
# "parameters.by_part" = "blocked"
# "causality.full_model" = "blocked"
# "causality.full_context" = "blocked"
# "causality.batch_independence" = "blocked"
# "causality.rows_sum_to_one" = "blocked"
# [bonus]
# "bonus.batched_heads" = "not_implemented"
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
