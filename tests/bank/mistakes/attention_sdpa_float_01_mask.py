# /// bank
# about = "float 0/1 triangle as attn_mask: it is added"
# extends = "variants/public_base"
# names = ["mask_added_as_numbers"]
# [loses]
# "attention.formula" = "partial"
# "attention.causal" = "failed"
# "causality.full_model" = "failed"
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
        y = F.scaled_dot_product_attention(q, k, v, attn_mask=self.tril[:T, :T])
        y = y.transpose(1, 2).reshape(B, T, d)
        return self.proj(y)
