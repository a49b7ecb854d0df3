# /// bank
# about = "one Linear(d, 2d) for queries and keys, one Linear for values"
# facts = "3b"
# [bonus]
# "bonus.weight_tying" = "not_implemented"
# "bonus.batched_heads" = "not_implemented"
# "bonus.qk_ov" = "not_implemented"
# ///
import math
from collections import OrderedDict

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
        self.h = H
        self.qk = nn.Linear(d, 2 * d, bias=False)
        self.v = nn.Linear(d, d, bias=False)
        self.merge = nn.Linear(d, d)

    def forward(self, x):
        B, T, C = x.shape
        q, k = self.qk(x).view(B, T, 2, self.h, C // self.h).permute(2, 0, 3, 1, 4).unbind(0)
        v = self.v(x).view(B, T, self.h, C // self.h).transpose(1, 2)
        att = (q @ k.transpose(-2, -1)) * (C // self.h) ** -0.5
        att = torch.where(torch.ones(T, T, device=x.device).tril() > 0, att, -torch.inf)
        return self.merge((att.softmax(-1) @ v).transpose(1, 2).reshape(B, T, C))


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
        self.residual1 = nn.Sequential(MyLayerNorm(d), MultiHeadAttention(d, H, T_max))
        self.residual2 = nn.Sequential(MyLayerNorm(d), MLP(d))

    def forward(self, x):
        for f in (self.residual1, self.residual2):
            x = f(x).add(x)
        return x


class GPT(nn.Module):
    def __init__(self, V, T_max, d, H, L):
        super().__init__()
        self.T_max = T_max
        self.model = nn.ModuleDict(dict(
            embed=nn.Embedding(V, d),
            blocks=nn.Sequential(OrderedDict((f"b{i}", Block(d, H, T_max)) for i in range(L))),
            norm=MyLayerNorm(d),
            head=nn.Linear(d, V, bias=False),
        ))
        self.position_embedding = nn.Parameter(torch.zeros(1, T_max, d))
        nn.init.normal_(self.position_embedding, std=0.01)
        for block in self.model.blocks:
            with torch.no_grad():
                [w.mul_(torch.tensor(1 / (2 * L)).sqrt()) for w in [block.residual1[1].merge.weight, block.residual2[1].l["fc_out"].weight]]

    def hidden(self, idx):
        return F.embedding(idx, self.model.embed.weight) + self.position_embedding[:, :idx.shape[1], :]

    def forward(self, idx, targets=None):
        T = idx.shape[1]
        if T > self.T_max:
            raise ValueError(f"idx is too long: {T} > {self.T_max}")
        x = self.model.blocks(self.hidden(idx))
        out = {"logits": self.model.head(self.model.norm(x)), "loss": None}
        if targets is not None:
            out["loss"] = F.cross_entropy(out["logits"].transpose(-1, -2), targets)
        return out

    def generate(self, idx, max_new_tokens):
        with torch.no_grad():
            tokens = list(idx.unbind(1))
            while len(tokens) < idx.shape[1] + max_new_tokens:
                window = torch.stack(tokens[-self.T_max:], dim=1)
                probs = self.forward(window)["logits"][:, -1].softmax(dim=-1)
                tokens.append(torch.multinomial(probs, 1).squeeze(-1))
            return torch.stack(tokens, dim=1)


def shape_table(model, idx):
    stages = [("embeddings", model.hidden)]
    stages += [(f"block {i}", block) for i, block in enumerate(model.model.blocks, 1)]
    stages += [("final LayerNorm", model.model.norm), ("logits", model.model.head)]
    value, table = idx, []
    for name, stage in stages:
        value = stage(value)
        table.append((name, tuple(value.shape)))
    return table
