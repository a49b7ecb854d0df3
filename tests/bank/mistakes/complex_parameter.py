# /// bank
# about = "a complex parameter that is never used"
# facts = "own"
# extends = "reference"
# unnamed = "a complex parameter is only a wrong count"
# [loses]
# "parameters.total" = "failed"
# "parameters.other_sizes" = "failed"
# "parameters.by_part" = "partial"
# ///


class GPT(GPT):
    def __init__(self, V, T_max, d, H, L, tie_weights=False):
        super().__init__(V, T_max, d, H, L, tie_weights)
        self.rotation = nn.Parameter(torch.polar(torch.ones(T_max), torch.arange(T_max) * 1.0), requires_grad=False)
