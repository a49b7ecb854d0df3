# /// bank
# about = "queries and keys each divided by the fourth root of d_head; softmax by logsumexp"
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


class MyLayerNorm(nn.Module):
    def __init__(self, features, eps=1e-8):
        super().__init__()
        self.a_2 = nn.Parameter(torch.ones(features))
        self.b_2 = nn.Parameter(torch.zeros(features))
        self.eps = eps

    def forward(self, x):
        var, mean = torch.var_mean(x, dim=-1, unbiased=False, keepdim=True)
        return self.a_2 * ((x - mean) * (var + self.eps).rsqrt()) + self.b_2


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
        self.l = nn.ModuleDict({"fc_out": nn.Linear(4 * d, d), "fc_in": nn.Linear(d, 4 * d), "act": nn.GELU()})

    def forward(self, x):
        for name in ("fc_in", "act", "fc_out"):
            x = self.l[name](x)
        return x


class Block(nn.Module):
    def __init__(self, d, H, T_max):
        super().__init__()
        self.sublayers = nn.ModuleList([MultiHeadAttention(d, H, T_max), MLP(d)])
        self.norms = nn.ModuleList([MyLayerNorm(d) for _ in self.sublayers])

    def forward(self, X):
        return reduce(lambda x, pair: x + pair[1](pair[0](x)), zip(self.norms, self.sublayers), X)


class GPT(nn.Module):
    def __init__(self, V, T_max, d, H, L, *, std=0.02):
        super().__init__()
        assert min(V, T_max, d, H, L) > 0, "all sizes must be positive"
        self.sizes = {"V": V, "T_max": T_max, "d": d, "H": H, "L": L}
        self.unembedding = nn.Parameter(std * torch.randn(d, V))
        self.final_norm = MyLayerNorm(d)
        self.stack = nn.ModuleList()
        for _ in range(L):
            block = Block(d, H, T_max)
            self.stack.append(block)
        self.table_of_positions = nn.Embedding(T_max, d)
        self.table_of_tokens = nn.Embedding(V, d)
        self.register_buffer("steps", torch.arange(T_max)[None], persistent=False)
        for block in self.stack:
            for w in [block.sublayers[0].o.weight, block.sublayers[1].l["fc_out"].weight]:
                nn.init.normal_(w, mean=0.0, std=std / math.sqrt(2 * L))

    def trunk(self, idx):
        x = self.table_of_tokens(idx) + self.table_of_positions(self.steps[:, : idx.shape[1]])
        seen = [x]
        for block in self.stack:
            seen.append(block(seen[-1]))
        seen.append(self.final_norm(seen[-1]))
        seen.append(seen[-1] @ self.unembedding)
        return seen

    def forward(self, idx, targets=None):
        T, T_max = idx.shape[-1], self.sizes["T_max"]
        assert T <= T_max, f"T={T} T_max={T_max}"
        logits = self.trunk(idx)[-1]
        return logits if targets is None else (logits, loss_of(logits, targets))


def loss_of(logits, targets):
    return F.cross_entropy(logits.contiguous().view(-1, logits.size(-1)), targets.contiguous().view(-1))


def sample(logits):
    """One token per row, by inverting the cumulative distribution."""
    cumulative = torch.cumsum(torch.softmax(logits, dim=-1), dim=-1)
    u = torch.rand(logits.shape[0], 1, device=logits.device, dtype=logits.dtype)
    return (u > cumulative).sum(dim=-1, keepdim=True).clamp(max=logits.shape[-1] - 1)


@torch.no_grad()
def generate(model, idx, max_new_tokens):
    for _ in range(max_new_tokens):
        context = idx[:, -model.sizes["T_max"]:]
        idx = torch.hstack([idx, sample(model(context)[:, -1])])
    return idx


@torch.no_grad()
def shape_table(model, idx):
    names = ["embeddings", *(f"block {l}" for l in range(1, model.sizes["L"] + 1)), "final LayerNorm", "logits"]
    return list(zip(names, (tuple(t.shape) for t in model.trunk(idx))))
