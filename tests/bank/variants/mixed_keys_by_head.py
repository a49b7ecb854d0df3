# /// bank
# about = "keys by head, queries and values fused; sampling by exponential_"
# facts = "3b"
# [bonus]
# "bonus.weight_tying" = "not_implemented"
# "bonus.batched_heads" = "not_implemented"
# "bonus.qk_ov" = "not_implemented"
# ///
import math

import torch
import torch.nn as nn
import torch.nn.functional as F


class MultiHeadAttention(nn.Module):
    def __init__(self, d, H, T_max):
        super().__init__()
        assert d % H == 0
        self.H, self.d_head = H, d // H
        self.qv = nn.Linear(d, 2 * d, bias=False)
        self.k = nn.ModuleList([nn.Linear(d, d // H, bias=False) for _ in range(H)])
        self.proj = nn.Linear(d, d)

    def forward(self, x):
        B, T, d = x.shape
        q, v = self.qv(x).reshape(B, T, 2, self.H, self.d_head).permute(2, 0, 3, 1, 4)
        k = torch.stack([key(x) for key in self.k], dim=1)
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True, scale=1 / math.sqrt(self.d_head))
        return self.proj(y.transpose(1, 2).flatten(2, 3))


class MLP(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.up, self.down = nn.Linear(d, 4 * d), nn.Linear(4 * d, d)

    def forward(self, x):
        return self.down(F.gelu(self.up(x), approximate="none"))


class Block(nn.Module):
    def __init__(self, d, H, T_max):
        super().__init__()
        self.ln1, self.attn, self.ln2, self.mlp = nn.LayerNorm(d), MultiHeadAttention(d, H, T_max), nn.LayerNorm(d), MLP(d)

    def forward(self, x):
        x = x + self.attn(self.ln1(x))
        return x + self.mlp(self.ln2(x))


class GPT(nn.Module):
    def __init__(self, V, T_max, d, H, L, tie_weights=False):
        super().__init__()
        self.T_max = T_max
        self.tok_emb = nn.Embedding(V, d)
        self.pos_emb = nn.Embedding(T_max, d)
        self.blocks = nn.ModuleList([Block(d, H, T_max) for _ in range(L)])
        self.ln_f = nn.LayerNorm(d)
        self.lm_head = nn.Linear(d, V, bias=False)
        nn.init.trunc_normal_(self.lm_head.weight, std=0.02)
        writers = [b.attn.proj for b in self.blocks] + [b.mlp.down for b in self.blocks]
        for w in writers:
            w.weight.data.mul_(len(writers) ** -0.5)  # there are 2L of them

    def forward(self, idx, targets=None):
        T = idx.shape[1]
        assert T <= self.T_max, f"{T=} {self.T_max=}"
        x = self.tok_emb(idx) + self.pos_emb(torch.arange(T, device=idx.device))
        for b in self.blocks:
            x = b(x)
        logits = self.lm_head(self.ln_f(x))
        return logits if targets is None else (logits, F.cross_entropy(logits.flatten(0, 1), targets.flatten()))

    @torch.no_grad()
    def generate(self, idx, max_new_tokens):
        for _ in range(max_new_tokens):
            logits = self(idx[:, -self.T_max:])[:, -1]
            gumbel = -torch.empty_like(logits).exponential_().log()
            idx = torch.cat([idx, (logits + gumbel).argmax(dim=-1, keepdim=True)], dim=1)
        return idx


@torch.no_grad()
def shape_table(model, idx):
    x = model.tok_emb(idx) + model.pos_emb(torch.arange(idx.shape[1], device=idx.device))
    out = [("embeddings", x.shape)]
    for i, b in enumerate(model.blocks, 1):
        out.append((f"block {i}", (x := b(x)).shape))
    out.append(("final LayerNorm", (x := model.ln_f(x)).shape))
    out.append(("logits", model.lm_head(x).shape))
    return [(n, tuple(s)) for n, s in out]
