# /// bank
# about = "softmax over the query axis: columns of the attention matrix sum to 1, rows do not"
# facts = "M05"
# extends = "reference"
# names = ["softmax_over_queries"]
# [loses]
# "attention.formula" = "partial"
# "attention.rows_sum_to_one" = "failed"
# "attention.causal" = "failed"
# "causality.full_model" = "failed"
# "causality.rows_sum_to_one" = "failed"
# ///


class MultiHeadAttention(nn.Module):
    def __init__(self, d, H, T_max):
        super().__init__()
        self.heads = nn.ModuleList(CausalHead(d, d // H, T_max) for _ in range(H))
        self.proj = nn.Linear(d, d)

    def forward(self, x):
        return self.proj(torch.cat([h(x) for h in self.heads], dim=-1))


class CausalHead(nn.Module):
    def __init__(self, d, d_head, T_max):
        super().__init__()
        self.query = nn.Linear(d, d_head, bias=False)
        self.key = nn.Linear(d, d_head, bias=False)
        self.value = nn.Linear(d, d_head, bias=False)
        self.register_buffer("tril", torch.tril(torch.ones(T_max, T_max)))

    def forward(self, x):
        B, T, C = x.shape
        scores = self.query(x) @ self.key(x).transpose(-2, -1) * self.query.out_features ** -0.5
        scores = scores.masked_fill(self.tril[:T, :T] == 0, float("-inf"))
        weights = F.softmax(scores, dim=1)
        return weights @ self.value(x)
