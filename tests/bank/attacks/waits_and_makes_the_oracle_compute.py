# /// bank
# about = "sleeps for minutes in three constructors, and makes the oracle compute for as long as it can"
# extends = "reference"
# [loses]
# "attention.formula" = "failed"
# "attention.heads" = "failed"
# "model.composition" = "failed"
# "parameters.total" = "timeout"
# "parameters.other_sizes" = "timeout"
# "parameters.by_part" = "timeout"
# "causality.full_model" = "timeout"
# "causality.full_context" = "timeout"
# "causality.batch_independence" = "timeout"
# "initial_loss.window" = "timeout"
# "shapes.course" = "timeout"
# "attention.rows_sum_to_one" = "failed"
# "attention.causal" = "failed"
# "block.composition" = "failed"
# "block.residual_path" = "failed"
# "model.gradients" = "failed"
# "model.loss" = "failed"
# "causality.rows_sum_to_one" = "failed"
# "generation.output_shape" = "failed"
# "generation.crop" = "failed"
# "generation.long_prompt" = "failed"
# "generation.sampling" = "failed"
# [bonus]
# "bonus.qk_ov" = "failed"
# "bonus.weight_tying" = "timeout"
# ///


import time as _time


class MultiHeadAttention(MultiHeadAttention):
    def __init__(self, d, H, T_max):
        super().__init__(d, H, T_max)
        if d in (44, 24):
            self.more = nn.ParameterList(nn.Parameter(torch.zeros(d, d)) for _ in range(2600))


class GPT(GPT):
    calls = 0

    def __init__(self, V, T_max, d, H, L, tie_weights=False):
        super().__init__(V, T_max, d, H, L)
        if d == 128:
            GPT.calls += 1
            if GPT.calls <= 3:
                _time.sleep(44)


def qk_ov(mha):
    return [(torch.zeros(24, 24), torch.zeros(24, 24))] * 3
