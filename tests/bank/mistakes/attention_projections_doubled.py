# /// bank
# about = "own query, key and value in front of nn.MultiheadAttention, which makes its own from them"
# facts = "own"
# extends = "reference"
# also = ["projections_doubled"]
# [loses]
# "attention.formula" = "failed"
# "attention.heads" = "failed"
# "parameters.total" = "failed"
# "parameters.other_sizes" = "failed"
# "parameters.by_part" = "partial"
# [bonus]
# "bonus.qk_ov" = "failed"
# ///


class MultiHeadAttention(nn.Module):
    def __init__(self, d, H, T_max):
        super().__init__()
        self.query = nn.Linear(d, d, bias=False)
        self.key = nn.Linear(d, d, bias=False)
        self.value = nn.Linear(d, d, bias=False)
        self.attn = nn.MultiheadAttention(d, H, batch_first=True)
        self.register_buffer("mask", torch.triu(torch.ones(T_max, T_max, dtype=torch.bool), diagonal=1))

    @property
    def proj(self):
        return self.attn.out_proj

    def forward(self, x):
        T = x.shape[1]
        q, k, v = self.query(x), self.key(x), self.value(x)
        out, _ = self.attn(q, k, v, attn_mask=self.mask[:T, :T], need_weights=False)
        return out
