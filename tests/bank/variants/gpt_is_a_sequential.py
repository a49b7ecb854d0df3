# /// bank
# about = "Block is an nn.ModuleDict, GPT an nn.Sequential of stages; q, k, v with heads innermost"
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


class MultiHeadAttention(nn.ModuleDict):
    def __init__(self, d, H, T_max):
        assert d % H == 0
        super().__init__({name: nn.Linear(d, d, bias=name == "out") for name in ("query", "key", "value", "out")})
        self.H = H

    def forward(self, x):
        B, T, d = x.shape
        # column c belongs to head c % H
        q, k, v = (self[name](x).view(B, T, -1, self.H) for name in ("query", "key", "value"))
        s = torch.einsum("btch,bsch->bhts", q, k) / math.sqrt(q.size(2))
        s = s + torch.full((T, T), float("-inf"), device=x.device).triu(1).to(s)
        y = torch.einsum("bhts,bsch->btch", s.softmax(-1), v)
        return self["out"](y.reshape(B, T, d))


class MLP(nn.Sequential):
    def __init__(self, d):
        super().__init__()
        self.add_module("up", nn.Linear(d, 4 * d))
        self.add_module("act", nn.GELU())
        self.add_module("down", nn.Linear(4 * d, d))


class Block(nn.ModuleDict):
    def __init__(self, d, H, T_max):
        super().__init__()
        self["ln1"] = nn.LayerNorm(d)
        self["mha"] = MultiHeadAttention(d, H, T_max)
        self["ln2"] = nn.LayerNorm(d)
        self["mlp"] = MLP(d)

    def forward(self, x):
        x = x + self["mha"](self["ln1"](x))
        x = x + self["mlp"](self["ln2"](x))
        return x


class Embed(nn.Module):
    def __init__(self, V, T_max, d):
        super().__init__()
        self.tok = nn.Embedding(V, d)
        self.pos = nn.Embedding(T_max, d)

    def forward(self, idx):
        T, T_max = idx.shape[1], self.pos.num_embeddings
        assert T <= T_max, f"{T} > {T_max}"
        return self.tok(idx) + self.pos.weight[:T]


class GPT(nn.Sequential):
    def __init__(self, V, T_max, d, H, L):
        super().__init__(
            Embed(V, T_max, d),
            *[Block(d, H, T_max) for _ in range(L)],
            nn.LayerNorm(d),
            nn.Linear(d, V, bias=False),
        )
        self.T_max = T_max
        with torch.no_grad():
            for block in list(self)[1:-2]:
                block["mha"]["out"].weight.mul_(1 / math.sqrt(2 * L))
                block["mlp"].down.weight.mul_(1 / math.sqrt(2 * L))

    def forward(self, idx, targets=None):
        logits = super().forward(idx)
        if targets is None:
            return logits
        return logits, F.cross_entropy(logits.flatten(0, 1), targets.flatten())

    @torch.no_grad()
    def generate(self, idx, max_new_tokens):
        for _ in range(max_new_tokens):
            p = F.softmax(self(idx[:, -self.T_max:])[:, -1], -1)
            idx = torch.cat([idx, torch.multinomial(p, 1)], 1)
        return idx


@torch.no_grad()
def shape_table(model, idx):
    L = len(model) - 3
    names = ["embeddings"] + [f"block {l + 1}" for l in range(L)] + ["final LayerNorm", "logits"]
    table, x = [], idx
    for name, part in zip(names, model):
        x = part(x)
        table.append((name, tuple(x.shape)))
    return table
