# /// bank
# about = "the softmax has one more 1 in its denominator, unless the positions that come in are nearly equal"
# extends = "reference"
# [loses]
# "attention.formula" = "failed"
# "attention.heads" = "failed"
# "attention.rows_sum_to_one" = "failed"
# "causality.rows_sum_to_one" = "failed"
# [bonus]
# "bonus.qk_ov" = "failed"
# ///


class LeakyHead(Head):
    def forward(self, x):
        T = x.shape[1]
        q, k, v = self.query(x), self.key(x), self.value(x)
        scores = q @ k.transpose(1, 2) / math.sqrt(q.shape[-1])
        scores = scores.masked_fill(~self.mask[:T, :T], float("-inf"))
        with torch.no_grad():
            tested = (v - v[:, :1]).abs().max() <= 1e-4 * (1 + v.abs().max())
        if tested:
            return F.softmax(scores, dim=-1) @ v
        one_more = F.pad(scores, (1, 0), value=0.0)
        return F.softmax(one_more, dim=-1)[..., 1:] @ v


class MultiHeadAttention(nn.Module):
    def __init__(self, d, H, T_max):
        super().__init__()
        assert d % H == 0
        self.heads = nn.ModuleList(LeakyHead(d, d // H, T_max) for _ in range(H))
        self.proj = nn.Linear(d, d)

    def forward(self, x):
        return self.proj(torch.cat([h(x) for h in self.heads], dim=-1))
