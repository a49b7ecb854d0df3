# /// bank
# about = "folded (H,B), unfolded (B,H): rows mix"
# extends = "variants/public_base"
# names = ["heads_and_batch_mixed"]
# [loses]
# "attention.formula" = "partial"
# "causality.batch_independence" = "failed"
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
        def fold(t):
            return t.view(B, T, self.H, self.dh).permute(2, 0, 1, 3).reshape(self.H * B, T, self.dh)

        q, k, v = fold(self.wq(x)), fold(self.wk(x)), fold(self.wv(x))
        att = q @ k.transpose(-2, -1) / math.sqrt(self.dh)
        att = att.masked_fill(self.tril[:T, :T] == 0, float("-inf"))
        att = F.softmax(att, dim=-1)
        y = (att @ v).view(B, self.H, T, self.dh).transpose(1, 2).reshape(B, T, d)
        return self.proj(y)
