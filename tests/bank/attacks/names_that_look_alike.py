# /// bank
# about = "parameters whose printable names are equal hide none of them from the count"
# extends = "reference"
# also = ["parameters_unused"]
# [loses]
# "model.gradients" = "failed"
# "parameters.total" = "failed"
# "parameters.other_sizes" = "failed"
# "parameters.by_part" = "partial"
# ///


class GPT(GPT):
    def __init__(self, V, T_max, d, H, L, tie_weights=False):
        super().__init__(V, T_max, d, H, L, tie_weights)
        for name in ("\x01", "\ufffd'", "\x02", "\x03" * 300, "\x04" * 400):
            self._parameters[name] = nn.Parameter(torch.zeros(3, 3))
