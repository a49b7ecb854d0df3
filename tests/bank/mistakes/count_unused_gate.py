# /// bank
# about = "a gate that the MLP makes and never uses"
# facts = "own"
# extends = "reference"
# also = ["parameters_unused"]
# [loses]
# "parameters.total" = "failed"
# "parameters.other_sizes" = "failed"
# "parameters.by_part" = "partial"
# ///


class MLP(MLP):
    def __init__(self, d):
        super().__init__(d)
        self.gate = nn.Linear(d, d)
