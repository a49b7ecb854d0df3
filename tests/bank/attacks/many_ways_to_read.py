# /// bank
# about = "classes keep so many tensors of the same shape that trying all orders would never end"
# facts = "18"
# extends = "reference"
# [loses]
# "attention.formula" = "failed"
# "attention.heads" = "failed"
# "model.gradients" = "failed"
# "parameters.total" = "failed"
# "parameters.other_sizes" = "failed"
# "parameters.by_part" = "failed"
# ///


class MLP(MLP):
    def __init__(self, d):
        super().__init__(d)
        self.more = nn.ParameterList(nn.Parameter(torch.zeros(d)) for _ in range(14))


class GPT(GPT):
    def __init__(self, V, T_max, d, H, L, tie_weights=False):
        super().__init__(V, T_max, d, H, L, tie_weights)
        self.tables = nn.ParameterList(nn.Parameter(torch.zeros(V, d)) for _ in range(60))
        self.places = nn.ParameterList(nn.Parameter(torch.zeros(T_max, d)) for _ in range(60))


class MultiHeadAttention(MultiHeadAttention):
    def __init__(self, d, H, T_max):
        super().__init__(d, H, T_max)
        self.more = nn.ParameterList(nn.Parameter(torch.zeros(d, d)) for _ in range(60))
        self.vectors = nn.ParameterList(nn.Parameter(torch.zeros(d)) for _ in range(3))
