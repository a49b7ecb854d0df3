# /// bank
# about = "cut mask computed, the full one used"
# extends = "variants/public_base"
# names = ["mask_not_sliced"]
# [loses]
# "attention.shape" = "failed"
# "attention.formula" = "failed"
# "attention.heads" = "failed"
# "attention.rows_sum_to_one" = "failed"
# "attention.causal" = "failed"
# "causality.rows_sum_to_one" = "failed"
# [bonus]
# "bonus.weight_tying" = "not_implemented"
# "bonus.batched_heads" = "not_implemented"
# "bonus.qk_ov" = "not_implemented"
# ///

class MultiHeadAttention(nn.Module):
    def __init__(self, d, H, T_max):
        super().__init__()
        assert d % H == 0, f"d={d} is no multiple of H={H}"
        self.H = H
        self.dh = d // H
        self.wq = nn.Linear(d, d, bias=False)
        self.wk = nn.Linear(d, d, bias=False)
        self.wv = nn.Linear(d, d, bias=False)
        self.proj = nn.Linear(d, d)
        self.register_buffer("tril", torch.tril(torch.ones(T_max, T_max)))

    def forward(self, x):
        B, T, d = x.shape
        q = self.wq(x).view(B, T, self.H, self.dh).transpose(1, 2)
        k = self.wk(x).view(B, T, self.H, self.dh).transpose(1, 2)
        v = self.wv(x).view(B, T, self.H, self.dh).transpose(1, 2)
        att = q @ k.transpose(-2, -1) / math.sqrt(self.dh)
        mask = self.tril[:T, :T] == 0
        att = att.masked_fill(self.tril == 0, float("-inf"))
        att = F.softmax(att, dim=-1)
        y = (att @ v).transpose(1, 2).contiguous().view(B, T, d)
        return self.proj(y)
