# /// bank
# about = "the given Head, results written into slices of a new tensor"
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

from head import Head


class LN(nn.LayerNorm):
    def __init__(self, d):
        super().__init__(d, eps=1e-6)
        self.d = d


class Identity(nn.Identity):
    pass


class MultiHeadAttention(nn.Module):
    def __init__(self, d, H, T_max):
        super().__init__()
        if d % H != 0:
            raise ValueError("d must be divisible by H, got d=%d and H=%d" % (d, H))
        self.attention_heads = nn.ModuleList()
        for _ in range(H):
            self.attention_heads.append(Head(d, d // H, T_max))
        self.linear = nn.Linear(in_features=d, out_features=d, bias=True)
        self.dropout = Identity()

    def forward(self, x):
        results = x.new_zeros(x.shape)
        width = x.shape[-1] // len(self.attention_heads)
        for number, head in enumerate(self.attention_heads):
            results[:, :, number * width:(number + 1) * width] = head(x)
        return self.dropout(self.linear(results))


class MLP(nn.Module):
    def __init__(self, d, expansion=4):
        super().__init__()
        self.up = nn.Linear(d, expansion * d)
        self.down = nn.Linear(expansion * d, d)

    def forward(self, x):
        return self.down(F.gelu(self.up(x)))


class Block(nn.Module):
    def __init__(self, d, H, T_max):
        super().__init__()
        self.residual1 = nn.Sequential(LN(d), MultiHeadAttention(d, H, T_max))
        self.residual2 = nn.Sequential(LN(d), MLP(d))

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
            norm=LN(d),
            head=nn.Linear(d, V, bias=False),
        ))
        self.position_embedding = nn.Parameter(torch.zeros(1, T_max, d))
        nn.init.normal_(self.position_embedding, std=0.01)
        for block in self.model.blocks:
            with torch.no_grad():
                [w.mul_(torch.tensor(1 / (2 * L)).sqrt()) for w in [block.residual1[1].linear.weight, block.residual2[1].down.weight]]

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
