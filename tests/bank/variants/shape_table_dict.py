# /// bank
# about = "shape_table returns a dict in the order of the computation"
# facts = "3b"
# [bonus]
# "bonus.weight_tying" = "not_implemented"
# "bonus.batched_heads" = "not_implemented"
# "bonus.qk_ov" = "not_implemented"
# ///
import math
from functools import reduce

import torch
import torch.nn as nn
import torch.nn.functional as F


class MultiHeadAttention(nn.Module):
    def __init__(self, d, H, T_max):
        super().__init__()
        assert d % H == 0
        self.H, self.scale = H, math.sqrt(math.sqrt(d // H))
        self.q, self.k, self.v, self.o = (nn.Linear(d, d, bias=b) for b in (False, False, False, True))

    @staticmethod
    def causal(T, device):
        return torch.ones(T, T, device=device, dtype=torch.bool).triu(1)

    def split(self, t):
        return torch.stack(t.chunk(self.H, dim=-1), dim=1)

    def forward(self, x):
        # q and k are both divided by the fourth root of d_head
        q, k, v = self.split(self.q(x)) / self.scale, self.split(self.k(x)) / self.scale, self.split(self.v(x))
        w = (q @ k.mT).masked_fill(self.causal(x.shape[1], x.device), -torch.inf)
        w = (w - w.logsumexp(-1, keepdim=True)).exp()
        return self.o(torch.cat((w @ v).unbind(1), dim=-1))


class MLP(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(d, 4 * d), nn.GELU(), nn.Linear(4 * d, d))

    def forward(self, x):
        return self.net(x)


class Block(nn.Module):
    def __init__(self, d, H, T_max):
        super().__init__()
        self.sublayers = nn.ModuleList([MultiHeadAttention(d, H, T_max), MLP(d)])
        self.norms = nn.ModuleList([nn.LayerNorm(d) for _ in self.sublayers])

    def forward(self, X):
        return reduce(lambda x, pair: x + pair[1](pair[0](x)), zip(self.norms, self.sublayers), X)


class GPT(nn.Module):
    def __init__(self, V, T_max, d, H, L):
        super().__init__()
        self.T_max = T_max
        self.tok_emb = nn.Embedding(V, d)
        self.pos_emb = nn.Embedding(T_max, d)
        self.blocks = nn.ModuleList([Block(d, H, T_max) for _ in range(L)])
        self.ln_f = nn.LayerNorm(d)
        self.lm_head = nn.Linear(d, V, bias=False)
        with torch.no_grad():
            for block in self.blocks:
                for weight in [block.sublayers[0].o.weight, block.sublayers[1].net[2].weight]:
                    weight /= math.sqrt(2 * L)

    def forward(self, idx, targets=None):
        B, T = idx.shape
        assert T <= self.T_max, f"sequence of {T} tokens, but T_max is {self.T_max}"
        x = self.tok_emb(idx) + self.pos_emb(torch.arange(T, device=idx.device))
        for block in self.blocks:
            x = block(x)
        logits = self.lm_head(self.ln_f(x))
        if targets is None:
            return logits
        loss = F.cross_entropy(logits.reshape(B * T, -1), targets.reshape(B * T))
        return logits, loss

    @torch.no_grad()
    def generate(self, idx, max_new_tokens):
        for _ in range(max_new_tokens):
            logits = self(idx[:, -self.T_max:])[:, -1, :]
            idx = torch.cat([idx, torch.multinomial(F.softmax(logits, dim=-1), num_samples=1)], dim=1)
        return idx


@torch.no_grad()
def shape_table(model, idx):
    x = model.tok_emb(idx) + model.pos_emb(torch.arange(idx.shape[1], device=idx.device))
    table = {"embeddings": tuple(x.shape)}
    for i, block in enumerate(model.blocks):
        x = block(x)
        table[f"block {i + 1}"] = tuple(x.shape)
    x = model.ln_f(x)
    table["final LayerNorm"] = tuple(x.shape)
    table["logits"] = tuple(model.lm_head(x).shape)
    return table
