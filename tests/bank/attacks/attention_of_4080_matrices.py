# /// bank
# about = "attention keeps as many d x d matrices as fit into one message, each of them a possible projection"
# facts = "19"
# extends = "reference"
# [loses]
# "attention.formula" = "failed"
# "attention.heads" = "failed"
# "attention.rows_sum_to_one" = "failed"
# "attention.causal" = "failed"
# ///


class MultiHeadAttention(MultiHeadAttention):
    def __init__(self, d, H, T_max):
        super().__init__(d, H, T_max)
        if d == 44:
            self.more = nn.ParameterList(nn.Parameter(torch.zeros(d, d)) for _ in range(4080))
