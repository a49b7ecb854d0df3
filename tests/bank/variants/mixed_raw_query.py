# /// bank
# about = "queries as a raw (d, d) parameter, keys and values by nn.Linear"
# facts = "3b"
# [bonus]
# "bonus.weight_tying" = "not_implemented"
# "bonus.batched_heads" = "not_implemented"
# "bonus.qk_ov" = "not_implemented"
# ///
import math
import torch
from torch import nn
from torch.nn import functional as F


class MultiHeadAttention(nn.Module):
    def __init__(self, d, H, T_max):
        super().__init__()
        assert d % H == 0, "H must divide d"
        self.H, self.d_head = H, d // H
        self.W_q = nn.Parameter(torch.randn(d, d) / math.sqrt(3 * d))
        self.key = nn.Linear(d, d, bias=False)
        self.value = nn.Linear(d, d, bias=False)
        self.proj = nn.Linear(d, d)

    def heads_first(self, z):
        return z.reshape(z.shape[0], z.shape[1], self.H, self.d_head).transpose(1, 2)

    def forward(self, x):
        B, T, d = x.shape
        q, k, v = self.heads_first(x @ self.W_q), self.heads_first(self.key(x)), self.heads_first(self.value(x))
        s = (q / math.sqrt(self.d_head)) @ k.mT
        see = torch.tril(torch.ones(T, T, dtype=torch.bool, device=x.device))
        s = torch.where(see, s, torch.tensor(-math.inf, dtype=s.dtype, device=s.device))
        return self.proj((s.softmax(-1) @ v).transpose(1, 2).reshape(B, T, d))


class MLP(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.up, self.act, self.down = nn.Linear(d, 4 * d), nn.GELU(), nn.Linear(4 * d, d)

    def forward(self, x):
        return self.down(self.act(self.up(x)))


class Block(nn.Module):
    def __init__(self, d, H, T_max):
        super().__init__()
        self.ln1 = nn.LayerNorm(d)
        self.ln2 = nn.LayerNorm(d)
        self.attn = MultiHeadAttention(d, H, T_max)
        self.mlp = MLP(d)

    def forward(self, x):
        y = x + self.attn(self.ln1(x))
        return y + self.mlp(self.ln2(y))


class GPT(nn.Module):
    def __init__(self, V, T_max, d, H, L, tie_weights=False):
        super().__init__()
        self.T_max = T_max
        self.tok_emb = nn.Embedding(V, d)
        self.pos_emb = nn.Parameter(0.1 * torch.randn(T_max, d))
        self.blocks = nn.ModuleList([Block(d, H, T_max) for _ in range(L)])
        self.ln_f = nn.LayerNorm(d)
        self.lm_head = nn.Linear(d, V, bias=False)
        for b in self.blocks:
            for w in (b.attn.proj.weight, b.mlp.down.weight):
                w.data *= 1 / math.sqrt(2 * L)

    def embed(self, idx):
        return self.tok_emb(idx) + self.pos_emb[: idx.shape[1]]

    def forward(self, idx, targets=None):
        assert idx.shape[1] <= self.T_max, f"got T={idx.shape[1]} tokens, T_max={self.T_max}"
        x = self.embed(idx)
        for b in self.blocks:
            x = b(x)
        logits = self.lm_head(self.ln_f(x))
        if targets is None:
            return logits
        return logits, F.cross_entropy(logits.reshape(-1, logits.shape[-1]), targets.reshape(-1))

    @torch.no_grad()
    def generate(self, idx, max_new_tokens):
        for _ in range(max_new_tokens):
            p = self(idx[:, -self.T_max:])[:, -1].softmax(-1)
            idx = torch.cat((idx, torch.multinomial(p, 1)), 1)
        return idx


@torch.no_grad()
def shape_table(model, idx):
    x = model.embed(idx)
    rows = [("embeddings", tuple(x.shape))]
    for i, b in enumerate(model.blocks, 1):
        x = b(x)
        rows.append((f"block {i}", tuple(x.shape)))
    x = model.ln_f(x)
    rows.append(("final LayerNorm", tuple(x.shape)))
    rows.append(("logits", tuple(model.lm_head(x).shape)))
    return rows
