# /// bank
# about = "attention divides its scores by a learnt temperature that starts at 1: one parameter too many"
# facts = "3b"
# extends = "reference"
# also = ["scalar_extra"]
# [loses]
# "parameters.total" = "failed"
# "parameters.other_sizes" = "failed"
# "parameters.by_part" = "partial"
# ///


class MultiHeadAttention(MultiHeadAttention):
    def __init__(self, d, H, T_max):
        super().__init__(d, H, T_max)
        self.temperature = nn.Parameter(torch.tensor(1.0))

    def forward(self, x):
        T = x.shape[1]
        mask = torch.ones(T, T, dtype=torch.bool).tril()
        out = []
        for head in self.heads:
            q, k, v = head.query(x), head.key(x), head.value(x)
            scores = q @ k.transpose(1, 2) / (math.sqrt(q.shape[-1]) * self.temperature)
            out.append(scores.masked_fill(~mask, float("-inf")).softmax(-1) @ v)
        return self.proj(torch.cat(out, dim=-1))
