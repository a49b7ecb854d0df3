# /// bank
# about = "einsum, projection by weight.view"
# extends = "variants/public_base"
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
        q, k, v = (w(x).view(B, T, self.H, self.dh) for w in (self.wq, self.wk, self.wv))
        att = torch.einsum('bthe,bshe->bhts', q, k) / math.sqrt(self.dh)
        att = att.masked_fill(self.tril[:T, :T] == 0, float("-inf"))
        att = F.softmax(att, dim=-1)
        y = torch.einsum('bhts,bshe->bthe', att, v)
        return torch.einsum('bthe,khe->btk', y, self.proj.weight.view(d, self.H, self.dh)) + self.proj.bias
