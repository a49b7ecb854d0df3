# /// bank
# about = "attention keeps an unused linear layer, and the MLP an unused LayerNorm: only the count is wrong"
# extends = "reference"
# also = ["parameters_unused"]
# [loses]
# "parameters.total" = "failed"
# "parameters.other_sizes" = "failed"
# "parameters.by_part" = "failed"
# ///


class MultiHeadAttention(MultiHeadAttention):
    def __init__(self, d, H, T_max):
        super().__init__(d, H, T_max)
        self.gate = nn.Linear(d, d)


class MLP(MLP):
    def __init__(self, d):
        super().__init__(d)
        self.norm = nn.LayerNorm(d)
