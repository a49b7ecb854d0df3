# /// bank
# about = "tril(diagonal=1): each token also sees the next one"
# facts = "M15"
# extends = "reference"
# names = ["mask_off_by_one"]
# [loses]
# "attention.formula" = "partial"
# "attention.causal" = "failed"
# "causality.full_model" = "failed"
# ///


class MaskedHead(nn.Module):
    def __init__(self, d, d_head, T_max):
        super().__init__()
        self.query = nn.Linear(d, d_head, bias=False)
        self.key = nn.Linear(d, d_head, bias=False)
        self.value = nn.Linear(d, d_head, bias=False)
        # row = who looks, column = who is seen
        self.register_buffer("tril", torch.tril(torch.ones(T_max, T_max), diagonal=1))

    def forward(self, x):
        T = x.size(1)
        wei = self.query(x) @ self.key(x).mT / math.sqrt(self.key.out_features)
        wei = wei.masked_fill(self.tril[:T, :T] == 0, float("-inf")).softmax(dim=-1)
        return wei @ self.value(x)


class MultiHeadAttention(nn.Module):
    def __init__(self, d, H, T_max):
        super().__init__()
        assert d % H == 0
        self.heads = nn.ModuleList([MaskedHead(d, d // H, T_max) for _ in range(H)])
        self.proj = nn.Linear(d, d)

    def forward(self, x):
        return self.proj(torch.cat([head(x) for head in self.heads], -1))
