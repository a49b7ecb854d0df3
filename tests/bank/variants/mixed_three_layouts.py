# /// bank
# about = "queries (H, d_head, d), keys (d, d) and values by nn.Linear"
# facts = "3b"
# [bonus]
# "bonus.weight_tying" = "not_implemented"
# "bonus.batched_heads" = "not_implemented"
# "bonus.qk_ov" = "not_implemented"
# ///
import torch
from torch import nn
import torch.nn.functional as F


class Norm(nn.Module):
    def __init__(self, width, eps=1e-8):
        super().__init__()
        self.gain = nn.Parameter(torch.ones(width))
        self.shift = nn.Parameter(torch.zeros(width))
        self.eps = eps

    def forward(self, x):
        c = x - x.mean(dim=-1, keepdim=True)
        return c * torch.rsqrt(c.square().mean(dim=-1, keepdim=True) + self.eps) * self.gain + self.shift


class MultiHeadAttention(nn.Module):
    def __init__(self, d, H, T_max):
        super().__init__()
        self.dh, rest = divmod(d, H)
        assert rest == 0
        self.H = H
        self.wq = nn.Parameter(torch.randn(H, self.dh, d) * d ** -0.5)
        self.wk = nn.Parameter(torch.randn(d, d) * d ** -0.5)
        self.wv = nn.Linear(d, d, bias=False)
        self.wo = nn.Linear(d, d)

    def forward(self, x):
        B, T, d = x.shape
        q = (self.wq @ x.transpose(1, 2).unsqueeze(1)).transpose(2, 3)     # (B, H, T, dh)
        k = (x @ self.wk).reshape(B, T, self.H, self.dh).permute(0, 2, 3, 1)  # (B, H, dh, T)
        v = self.wv(x).reshape(B, T, self.H, self.dh).permute(0, 2, 1, 3)
        scores = (q @ k) * self.dh ** -0.5
        rows = torch.arange(T, device=x.device)
        scores = scores.masked_fill(rows[None, :] > rows[:, None], float("-inf"))
        y = scores.softmax(-1) @ v
        return self.wo(y.permute(0, 2, 1, 3).reshape(B, T, d))


class MLP(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.a = nn.Linear(d, 4 * d)
        self.b = nn.Linear(4 * d, d)

    def forward(self, x):
        return self.b(F.gelu(self.a(x)))


class Block(nn.Module):
    def __init__(self, d, H, T_max):
        super().__init__()
        self.n1, self.n2 = Norm(d), Norm(d)
        self.attn, self.mlp = MultiHeadAttention(d, H, T_max), MLP(d)

    def forward(self, x):
        x = self.attn(self.n1(x)) + x
        x = self.mlp(self.n2(x)) + x
        return x


class GPT(nn.Module):
    def __init__(self, V, T_max, d, H, L, tie_weights=False):
        super().__init__()
        self.limit = T_max
        self.E = nn.Parameter(torch.randn(V, d))
        self.P = nn.Parameter(torch.randn(T_max, d))
        self.U = nn.Parameter(torch.randn(d, V) * (3 * d) ** -0.5)
        self.blocks = nn.ModuleList(Block(d, H, T_max) for _ in range(L))
        self.nf = Norm(d)
        for blk in self.blocks:
            with torch.no_grad():
                blk.attn.wo.weight *= (2 * L) ** -0.5
                blk.mlp.b.weight *= (2 * L) ** -0.5

    def forward(self, idx, targets=None):
        T = idx.size(1)
        assert T <= self.limit, "T = {} > T_max = {}".format(T, self.limit)
        x = self.E[idx] + self.P[:T]
        for blk in self.blocks:
            x = blk(x)
        logits = self.nf(x) @ self.U
        if targets is None:
            return logits, None
        return logits, F.cross_entropy(logits.permute(0, 2, 1), targets)

    @torch.no_grad()
    def generate(self, idx, max_new_tokens):
        B, T = idx.shape
        out = torch.zeros(B, T + max_new_tokens, dtype=idx.dtype, device=idx.device)
        out[:, :T] = idx
        for t in range(T, T + max_new_tokens):
            logits, _ = self(out[:, max(0, t - self.limit):t])
            out[:, t] = torch.multinomial(logits[:, -1].softmax(-1), 1)[:, 0]
        return out


@torch.no_grad()
def shape_table(model, idx):
    x = model.E[idx] + model.P[:idx.size(1)]
    res = [("embeddings", tuple(x.shape))]
    for i, blk in enumerate(model.blocks, 1):
        x = blk(x)
        res.append((f"block {i}", tuple(x.shape)))
    x = model.nf(x)
    return res + [("final LayerNorm", tuple(x.shape)), ("logits", tuple((x @ model.U).shape))]
