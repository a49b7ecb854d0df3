# /// bank
# about = "unusual, right"
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
        q = self.wq(x).view(B, T, self.H, self.dh).transpose(1, 2)
        k = self.wk(x).view(B, T, self.H, self.dh).transpose(1, 2)
        v = self.wv(x).view(B, T, self.H, self.dh).transpose(1, 2)
        m = torch.full((B, self.H, T, 1), -float("inf"), dtype=q.dtype, device=q.device)
        s = torch.zeros_like(m)
        y = torch.zeros_like(q)
        for j in range(0, T, 3):
            part = q @ k[:, :, j:j + 3].transpose(2, 3) / math.sqrt(self.dh)
            part = part.masked_fill(self.tril[:T, j:min(j + 3, T)] == 0, -1e30)
            top = torch.maximum(m, part.amax(-1, keepdim=True))
            p = torch.exp(part - top)
            keep = torch.exp(m - top)
            s = s * keep + p.sum(-1, keepdim=True)
            y = y * keep + p @ v[:, :, j:j + 3]
            m = top
        y = y / s
        y = y.transpose(1, 2).reshape(B, T, d)
        return self.proj(y)
