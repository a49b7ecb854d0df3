"""Correct classes and functions that replace a student's in checks that are about something else.

Each is sent to the student's process as source, alone and only if it is needed, so it uses nothing from this file
except the names torch, Tensor, nn, F, Any, contextlib and PermissiveModule. Attributes have the names that the handout
suggests; others are accepted and ignored.
"""

from __future__ import annotations

import contextlib
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from autograder.sandbox.loading.stubs import PermissiveModule


def parameter_count(V, T_max, d, L):  # type: ignore[no-untyped-def]
    parts = {
        "embeddings": (V + T_max) * d,
        "attention": L * (4 * d * d + d),
        "mlp": L * (8 * d * d + 5 * d),
        "block_norms": L * 4 * d,
        "final": 2 * d + V * d,
    }
    return {**parts, "total": sum(parts.values())}


def expected_initial_loss(V, d, std):  # type: ignore[no-untyped-def]
    return torch.tensor(float(V)).log().item() + d * std**2 / 2


class MultiHeadAttention(PermissiveModule):
    def __init__(self, d: int, H: int, T_max: int) -> None:
        nn.Module.__init__(self)
        self.H = H
        self.qkv = nn.Linear(d, 3 * d, bias=False)
        self.proj = nn.Linear(d, d)

    def forward(self, x: Tensor) -> Tensor:
        q, k, v = self.qkv(x).unflatten(-1, (3, self.H, -1)).movedim(-2, 1).unbind(-2)  # each (B, H, T, d_head)
        heads = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        out: Tensor = self.proj(heads.transpose(1, 2).flatten(2))
        return out


class MLP(PermissiveModule):
    def __init__(self, d: int) -> None:
        nn.Module.__init__(self)
        self.up, self.down = nn.Linear(d, 4 * d), nn.Linear(4 * d, d)

    def forward(self, x: Tensor) -> Tensor:
        out: Tensor = self.down(F.gelu(self.up(x)))
        return out


class Block(PermissiveModule):
    def __init__(self, d: int, H: int, T_max: int) -> None:
        nn.Module.__init__(self)
        self.ln1, self.attn = nn.LayerNorm(d), MultiHeadAttention(d, H, T_max)
        self.ln2, self.mlp = nn.LayerNorm(d), MLP(d)

    def forward(self, x: Tensor) -> Tensor:
        x = x + self.attn(self.ln1(x))
        x = x + self.mlp(self.ln2(x))
        return x


class GPT(PermissiveModule):
    """Keep the student's other methods, and for them the attributes that the student's constructor sets."""

    own_init: Any = staticmethod(lambda *_: None)

    def __init__(self, V: int, T_max: int, d: int, H: int, L: int) -> None:
        nn.Module.__init__(self)
        with contextlib.suppress(Exception):
            self.own_init(self, V, T_max, d, H, L)
        blocks = nn.ModuleList(Block(d, H, T_max) for _ in range(L))
        tok_emb, pos_emb = nn.Embedding(V, d), nn.Embedding(T_max, d)
        self.correct = nn.ModuleList([tok_emb, pos_emb, *blocks, nn.LayerNorm(d), nn.Linear(d, V, bias=False)])
        suggested = {"tok_emb": tok_emb, "pos_emb": pos_emb, "blocks": blocks}
        suggested |= {"ln_f": self.correct[-2], "lm_head": self.correct[-1]}
        for name, part in suggested.items():
            if name not in self._modules:
                setattr(self, name, part)
        vars(self).setdefault("T_max", T_max)

    def forward(self, idx: Tensor) -> Tensor:
        tok_emb, pos_emb, *others = self.correct
        x: Tensor = tok_emb(idx) + pos_emb(torch.arange(idx.shape[1]))
        for part in others:  # blocks, final LayerNorm, unembedding
            x = part(x)
        return x
