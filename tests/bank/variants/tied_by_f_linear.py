# /// bank
# about = "no lm_head at all: the unembedding is F.linear with the embedding's weight; embeddings start at 0.02"
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
from head import Head


class GPT(nn.Module):
    """Classes in the order in which one reads them: the whole first."""

    def __init__(self, V, T_max, d, H, L):
        super().__init__()
        self.T_max = T_max
        self.wte = nn.Parameter(torch.empty(V, d))
        self.wpe = nn.Parameter(torch.empty(T_max, d))
        self.blocks = nn.ModuleList(Block(d, H, T_max) for _ in range(L))
        self.ln_f = nn.LayerNorm(d)
        nn.init.normal_(self.wte, std=0.02)
        nn.init.normal_(self.wpe, std=0.01)
        for b in self.blocks:
            for lin in (b.attn.proj, b.mlp.fc[1]):
                lin.weight.data.div_(math.sqrt(2 * L))

    def forward(self, idx, targets=None):
        assert idx.size(1) <= self.T_max, f"T={idx.size(1)} T_max={self.T_max}"
        x = F.embedding(idx, self.wte) + self.wpe[: idx.size(1)]
        for b in self.blocks:
            x = b(x)
        logits = F.linear(self.ln_f(x), self.wte)
        if targets is None:
            return logits
        return logits, F.cross_entropy(logits.view(-1, logits.size(-1)), targets.reshape(-1))

    @torch.no_grad()
    def generate(self, idx, max_new_tokens):
        for _ in range(max_new_tokens):
            probs = self(idx[:, -self.T_max:])[:, -1].softmax(-1)
            idx = torch.cat([idx, probs.multinomial(1)], 1)
        return idx


class Block(nn.Module):
    def __init__(self, d, H, T_max):
        super().__init__()
        self.ln = nn.ModuleList([nn.LayerNorm(d), nn.LayerNorm(d)])
        self.attn = MultiHeadAttention(d, H, T_max)
        self.mlp = MLP(d)

    def forward(self, x):
        x = x + self.attn(self.ln[0](x))
        return x + self.mlp(self.ln[1](x))


class MLP(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.fc = nn.ModuleList([nn.Linear(d, 4 * d), nn.Linear(4 * d, d)])

    def forward(self, x):
        return self.fc[1](F.gelu(self.fc[0](x)))


class MultiHeadAttention(nn.Module):
    def __init__(self, d, H, T_max):
        super().__init__()
        assert d % H == 0
        self.heads = nn.ModuleList(Head(d, d // H, T_max) for _ in range(H))
        self.proj = nn.Linear(d, d)

    def forward(self, x):
        return self.proj(torch.cat([h(x) for h in self.heads], -1))


def shape_table(model, idx):
    x = F.embedding(idx, model.wte) + model.wpe[: idx.size(1)]
    out = [("embeddings", tuple(x.shape))]
    for i, b in enumerate(model.blocks, 1):
        x = b(x)
        out.append((f"block {i}", tuple(x.shape)))
    x = model.ln_f(x)
    out += [("final LayerNorm", tuple(x.shape)), ("logits", tuple(F.linear(x, model.wte).shape))]
    return out
