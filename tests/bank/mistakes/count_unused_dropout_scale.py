# /// bank
# about = "a learnt scale that the block makes and never uses"
# facts = "own"
# extends = "reference"
# also = ["parameters_unused"]
# [loses]
# "parameters.total" = "failed"
# "parameters.other_sizes" = "failed"
# "parameters.by_part" = "partial"
# ///


class Block(Block):
    def __init__(self, d, H, T_max):
        super().__init__(d, H, T_max)
        self.gamma = nn.Parameter(torch.ones(d))
