# /// bank
# about = "parameters whose shapes have a 0: no standard deviation follows from the last axis"
# facts = "19"
# extends = "reference"
# like = "reference"
# ///


class GPT(GPT):
    def __init__(self, V, T_max, d, H, L, tie_weights=False):
        super().__init__(V, T_max, d, H, L, tie_weights)
        self.none = nn.ParameterList(nn.Parameter(torch.zeros(shape)) for shape in ((3, 0), (0, 3), (0, 0, 1 << 20), 0))
