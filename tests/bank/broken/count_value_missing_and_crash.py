# /// bank
# about = "the attention has no value matrix and uses a name that is not defined"
# facts = "own"
# extends = "reference"
# names = ["undefined_attribute"]
# [loses]
# "attention.shape" = "failed"
# "attention.formula" = "failed"
# "attention.heads" = "failed"
# "attention.rows_sum_to_one" = "failed"
# "attention.causal" = "failed"
# "parameters.total" = "failed"
# "parameters.other_sizes" = "failed"
# "parameters.by_part" = "partial"
# "causality.full_model" = "failed"
# "causality.full_context" = "failed"
# "causality.batch_independence" = "failed"
# "causality.rows_sum_to_one" = "failed"
# [bonus]
# "bonus.qk_ov" = "failed"
# ///


class MultiHeadAttention(nn.Module):
    def __init__(self, d, H, T_max):
        super().__init__()
        assert d % H == 0
        self.H = H
        self.query, self.key = nn.Linear(d, d, bias=False), nn.Linear(d, d, bias=False)
        self.proj = nn.Linear(d, d)
        self.register_buffer("mask", torch.tril(torch.ones(T_max, T_max)))

    def forward(self, x):
        B, T, d = x.shape
        q, k, v = (f(x).view(B, T, self.H, -1).transpose(1, 2) for f in (self.query, self.key, self.value))
        scores = q @ k.transpose(-2, -1) / (d // self.H) ** 0.5
        scores = scores.masked_fill(self.mask[:T, :T] == 0, float("-inf"))
        return self.proj((scores.softmax(-1) @ v).transpose(1, 2).reshape(B, T, d))
