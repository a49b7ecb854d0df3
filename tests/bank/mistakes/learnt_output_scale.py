# /// bank
# about = "a learnt scalar multiplies the MLP output"
# facts = "own"
# extends = "reference"
# also = ["scalar_extra"]
# [loses]
# "parameters.total" = "failed"
# "parameters.other_sizes" = "failed"
# "parameters.by_part" = "partial"
# ///


class MLP(MLP):
    def __init__(self, d):
        super().__init__(d)
        self.gain = nn.Parameter(torch.tensor(1.0))

    def forward(self, x):
        return self.gain * super().forward(x)
