# /// bank
# about = "parameters and methods have names that are long, cannot be printed, or are formulas and markup"
# facts = "21"
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
        for name in ("\x1b[31mred", "\u202etxt", "<script>alert(1)</script>", "=1+1", "\ud800", "x" * 5000, "\0"):
            self._parameters[name] = nn.Parameter(torch.zeros(3, 3))


setattr(GPT, "\x1b[2J" + "y" * 100000, lambda self: None)
