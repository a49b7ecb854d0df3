# /// bank
# about = "one Parameter (3, d, d); torch.where; rsqrt norm with eps 1e-6; stages in a base class; Categorical"
# facts = "3b"
# [bonus]
# "bonus.weight_tying" = "not_implemented"
# "bonus.batched_heads" = "not_implemented"
# "bonus.qk_ov" = "not_implemented"
# ///
from __future__ import annotations

import math

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch import Tensor


class MultiHeadAttention(nn.Module):
    def __init__(self, d: int, H: int, T_max: int) -> None:
        super().__init__()
        if d % H:
            raise ValueError(f"{d=} is not a multiple of {H=}")
        self.n_heads = H
        self.in_proj = nn.Parameter(torch.empty(3, d, d))
        self.out_proj = nn.Linear(d, d)
        for w in self.in_proj:
            nn.init.xavier_uniform_(w)

    def forward(self, x: Tensor) -> Tensor:
        q, k, v = torch.einsum("btd,rde->rbte", x, self.in_proj).unflatten(-1, (self.n_heads, -1)).transpose(2, 3)
        scores: Tensor = q @ k.mT * q.size(-1) ** -0.5
        T: int = x.size(1)
        allowed = torch.ones(T, T, dtype=torch.bool, device=x.device).tril()
        scores = torch.where(allowed, scores, torch.tensor(float("-inf"), dtype=x.dtype, device=x.device))
        mixed = scores.softmax(-1) @ v
        return self.out_proj(mixed.transpose(1, 2).flatten(2))


class MLP(nn.Module):
    def __init__(self, d: int) -> None:
        super().__init__()
        self.layers = nn.ModuleList([nn.Linear(d, 4 * d), nn.GELU(), nn.Linear(4 * d, d)])

    def forward(self, x: Tensor) -> Tensor:
        for layer in self.layers:
            x = layer(x)
        return x


class LayerNorm(nn.Module):
    def __init__(self, d: int, eps: float = 1e-6) -> None:
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(d))
        self.bias = nn.Parameter(torch.zeros(d))

    def forward(self, x: Tensor) -> Tensor:
        centred = x - x.mean(dim=-1, keepdim=True)
        return centred * torch.rsqrt(centred.square().mean(dim=-1, keepdim=True) + self.eps) * self.weight + self.bias


class Block(nn.Module):
    def __init__(self, d: int, H: int, T_max: int) -> None:
        super().__init__()
        self.norms = nn.ModuleList([LayerNorm(d), LayerNorm(d)])
        self.subs = nn.ModuleList([MultiHeadAttention(d, H, T_max), MLP(d)])

    def forward(self, x: Tensor) -> Tensor:
        for norm, sub in zip(self.norms, self.subs):
            x = x + sub(norm(x))
        return x


class LanguageModel(nn.Module):
    """What any autoregressive model shares: loss and sampling."""

    context: int

    def logits(self, idx: Tensor) -> Tensor:
        raise NotImplementedError

    def forward(self, idx: Tensor, targets: Tensor | None = None) -> Tensor | tuple[Tensor, Tensor]:
        assert idx.size(1) <= self.context, f"got {idx.size(1)} tokens, at most {self.context}"
        logits = self.logits(idx)
        if targets is None:
            return logits
        return logits, F.cross_entropy(logits.transpose(1, 2), targets)

    @torch.inference_mode()
    def generate(self, idx: Tensor, max_new_tokens: int, temperature: float = 1.0) -> Tensor:
        for _ in range(max_new_tokens):
            last = self.logits(idx[:, -self.context :])[:, -1] / temperature
            new = torch.distributions.Categorical(logits=last).sample()
            idx = torch.cat([idx, new[:, None]], dim=1)
        return idx


class GPT(LanguageModel):
    def __init__(self, V: int, T_max: int, d: int, H: int, L: int) -> None:
        super().__init__()
        self.context = T_max
        self.embed = nn.Embedding(V, d)
        self.place = nn.Embedding(T_max, d)
        self.trunk = nn.Sequential(*[Block(d, H, T_max) for _ in range(L)])
        self.norm = LayerNorm(d)
        self.unembed = nn.Linear(d, V, bias=False)
        for block in self.trunk:
            for w in (block.subs[0].out_proj.weight, block.subs[1].layers[2].weight):
                w.data.div_(math.sqrt(2 * L))

    def embeddings(self, idx: Tensor) -> Tensor:
        return self.embed(idx) + self.place.weight[: idx.size(1)]

    def logits(self, idx: Tensor) -> Tensor:
        return self.unembed(self.norm(self.trunk(self.embeddings(idx))))


def shape_table(model: GPT, idx: Tensor) -> list[tuple[str, tuple[int, ...]]]:
    x = model.embeddings(idx)
    rows = [("embeddings", tuple(x.shape))]
    for n, block in enumerate(model.trunk, 1):
        x = block(x)
        rows += [(f"block {n}", tuple(x.shape))]
    x = model.norm(x)
    rows += [("final LayerNorm", tuple(x.shape))]
    rows += [("logits", tuple(model.unembed(x).shape))]
    return rows
