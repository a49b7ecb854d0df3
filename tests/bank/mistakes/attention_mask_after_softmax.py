# /// bank
# about = "the mask multiplies the weights after the softmax; rows are not renormalised"
# facts = "M07"
# extends = "reference"
# names = ["mask_after_softmax"]
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
        assert d % H == 0
        self.H = H
        self.query = nn.Linear(d, d, bias=False)
        self.key = nn.Linear(d, d, bias=False)
        self.value = nn.Linear(d, d, bias=False)
        self.proj = nn.Linear(d, d)
        self.register_buffer("mask", torch.tril(torch.ones(T_max, T_max)))

    def forward(self, x):
        B, T, d = x.shape
        q = self.query(x).view(B, T, self.H, -1).transpose(1, 2)
        k = self.key(x).view(B, T, self.H, -1).transpose(1, 2)
        v = self.value(x).view(B, T, self.H, -1).transpose(1, 2)
        weights = F.softmax(q @ k.transpose(-2, -1) / math.sqrt(d // self.H), dim=-1)
        weights = weights * self.mask[:T, :T]
        return self.proj((weights @ v).transpose(1, 2).reshape(B, T, d))


def qk_ov(mha):
    pairs = []
    d_head = mha.proj.in_features // mha.H
    for h in range(mha.H):
        rows = slice(h * d_head, (h + 1) * d_head)
        QK = mha.query.weight[rows].T @ mha.key.weight[rows]
        OV = mha.value.weight[rows].T @ mha.proj.weight.T[rows]
        pairs.append((QK, OV))
    return pairs
