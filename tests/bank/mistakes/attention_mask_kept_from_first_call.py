# /// bank
# about = "the mask is made at the first call, in its length, and kept for all later ones"
# extends = "reference"
# unnamed = "the second length raises; that a tensor was kept from the first call is not seen in it"
# [loses]
# "attention.shape" = "failed"
# "attention.formula" = "failed"
# "attention.heads" = "failed"
# "attention.rows_sum_to_one" = "failed"
# "attention.causal" = "failed"
# "causality.rows_sum_to_one" = "failed"
# "generation.output_shape" = "failed"
# "generation.crop" = "failed"
# ///


class KeptMask(nn.Module):
    def __init__(self, d, d_head):
        super().__init__()
        self.query = nn.Linear(d, d_head, bias=False)
        self.key = nn.Linear(d, d_head, bias=False)
        self.value = nn.Linear(d, d_head, bias=False)
        self.mask = None

    def forward(self, x):
        T = x.shape[1]
        if self.mask is None:
            self.mask = torch.tril(torch.ones(T, T)) == 0
        q, k, v = self.query(x), self.key(x), self.value(x)
        scores = q @ k.transpose(1, 2) / q.shape[-1] ** 0.5
        return torch.softmax(scores.masked_fill(self.mask, float("-inf")), dim=-1) @ v


class MultiHeadAttention(nn.Module):
    def __init__(self, d, H, T_max):
        super().__init__()
        self.heads = nn.ModuleList(KeptMask(d, d // H) for _ in range(H))
        self.proj = nn.Linear(d, d)

    def forward(self, x):
        return self.proj(torch.cat([head(x) for head in self.heads], dim=-1))
