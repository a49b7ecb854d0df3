# /// bank
# about = "GPT runs the blocks' parts itself through module-level helper functions, Block does the same"
# facts = "3b"
# [bonus]
# "bonus.weight_tying" = "not_implemented"
# "bonus.batched_heads" = "not_implemented"
# "bonus.qk_ov" = "not_implemented"
# ///
import math
import matplotlib_free as plt  # my own module: text plots
import torch
from torch import nn
from torch.nn import functional as F
from head import Head


def count(module):
    return sum(p.numel() for p in module.parameters())


def write(stream, norm, sublayer):
    """Adds to the stream what the sublayer makes of its normalised copy."""
    return stream + sublayer(norm(stream))


class MultiHeadAttention(nn.Module):
    def __init__(self, d, H, T_max):
        super().__init__()
        assert d % H == 0 and H >= 1
        self.heads = nn.ModuleList(map(lambda _: Head(d, d // H, T_max), range(H)))
        self.mix = nn.Linear(d, d)

    def forward(self, x):
        return self.mix(torch.cat(tuple(head(x) for head in self.heads), dim=-1))


class MLP(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.wide, self.narrow = nn.Linear(d, 4 * d), nn.Linear(4 * d, d)

    def forward(self, x):
        return self.narrow(F.gelu(self.wide(x)))


class Block(nn.Module):
    def __init__(self, d, H, T_max):
        super().__init__()
        self.a, self.b = nn.LayerNorm(d), nn.LayerNorm(d)
        self.mha, self.mlp = MultiHeadAttention(d, H, T_max), MLP(d)

    def forward(self, x):
        return write(write(x, self.a, self.mha), self.b, self.mlp)


class GPT(nn.Module):
    def __init__(self, V, T_max, d, H, L):
        super().__init__()
        self.T_max = T_max
        self.tok, self.pos = nn.Embedding(V, d), nn.Embedding(T_max, d)
        self.blocks = nn.ModuleList([Block(d, H, T_max) for _ in range(L)])
        self.norm, self.head = nn.LayerNorm(d), nn.Linear(d, V, bias=False)
        factor = math.pow(2 * L, -0.5)
        params = dict(self.named_parameters())
        for l in range(L):
            for name in (f"blocks.{l}.mha.mix.weight", f"blocks.{l}.mlp.narrow.weight"):
                params[name].data.mul_(factor)

    def stages(self, idx):
        x = self.tok(idx) + self.pos.weight[None, : idx.shape[1]]
        found = [("embeddings", x)]
        for l, block in enumerate(self.blocks, 1):
            # the block's forward, written out
            x = write(x, block.a, block.mha)
            x = write(x, block.b, block.mlp)
            found.append((f"block {l}", x))
        x = self.norm(x)
        return found + [("final LayerNorm", x), ("logits", self.head(x))]

    def forward(self, idx, targets=None):
        assert idx.shape[1] <= self.T_max, f"{idx.shape[1]} tokens, room for {self.T_max}"
        logits = self.stages(idx)[-1][1]
        if targets is None:
            return logits
        return logits, F.cross_entropy(logits.flatten(0, 1), targets.flatten())

    @torch.no_grad()
    def generate(self, idx, max_new_tokens):
        for _ in range(max_new_tokens):
            p = F.softmax(self(idx[:, -self.T_max:])[:, -1], dim=-1)
            idx = torch.cat([idx, torch.multinomial(p, 1)], dim=1)
        return idx


def shape_table(model, idx):
    return [(name, tuple(x.shape)) for name, x in model.stages(idx)]


#: file matplotlib_free.py
"""Plots with characters, for machines without matplotlib."""


def plot(values, width=40):
    top = max(values)
    for v in values:
        print("#" * int(width * v / top))
