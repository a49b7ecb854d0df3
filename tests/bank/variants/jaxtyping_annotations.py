# /// bank
# about = "annotations as strings, many asserts; fused layout (d_head, H, 3) in the order v, q, k"
# facts = "3b"
# [bonus]
# "bonus.weight_tying" = "not_implemented"
# "bonus.batched_heads" = "not_implemented"
# "bonus.qk_ov" = "not_implemented"
# ///
from __future__ import annotations

import math
from typing import Optional

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch import Tensor


class MultiHeadAttention(nn.Module):
    """Fused, with layout (d_head, H, 3)."""

    def __init__(self, d, H, T_max):
        super().__init__()
        assert d % H == 0
        self.H = H
        self.wqkv = nn.Linear(d, 3 * d, bias=False)
        self.wo = nn.Linear(d, d)
        nn.init.orthogonal_(self.wqkv.weight)

    def forward(self, x):
        B, T, d = x.shape
        t = self.wqkv(x).reshape(B, T, d // self.H, self.H, 3)
        v, q, k = t[..., 0], t[..., 1], t[..., 2]
        s = torch.einsum("bteh,bseh->bhts", q, k) * (d / self.H) ** -0.5
        s = s.masked_fill(torch.ones(T, T, device=x.device).tril() == 0, -1e9)
        return self.wo(torch.einsum("bhts,bseh->bthe", torch.softmax(s, -1), v).reshape(B, T, d))


def gelu(x):
    # GPT-2's approximation
    return 0.5 * x * (1.0 + torch.tanh(math.sqrt(2.0 / math.pi) * (x + 0.044715 * torch.pow(x, 3.0))))


class MLP(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.w1, self.w2 = nn.Linear(d, 4 * d), nn.Linear(4 * d, d)

    def forward(self, x):
        return self.w2(gelu(self.w1(x)))


class Block(nn.Module):
    def __init__(self, d, H, T_max):
        super().__init__()
        self.residual1 = nn.Sequential(nn.LayerNorm(d), MultiHeadAttention(d, H, T_max))
        self.residual2 = nn.Sequential(nn.LayerNorm(d), MLP(d))

    def forward(self, x):
        for f in (self.residual1, self.residual2):
            x = f(x).add(x)
        return x


Tokens = Tensor
Logits = Tensor


class GPT(nn.Module):
    def __init__(self, V: int, T_max: int, d: int, H: int, L: int):
        super().__init__()
        self.T_max: int = T_max
        self.depth: int = L
        self.W_E = nn.Embedding(V, d)
        self.W_P = nn.Embedding(T_max, d)
        self.layers = nn.ModuleList(Block(d, H, T_max) for _ in range(L))
        self.ln = nn.LayerNorm(d)
        self.W_U = nn.Linear(d, V, bias=False)
        self.reset_parameters()

    @torch.no_grad()
    def reset_parameters(self) -> None:
        nn.init.normal_(self.W_E.weight, std=0.02)
        nn.init.normal_(self.W_P.weight, std=0.02)
        nn.init.normal_(self.W_U.weight, std=0.02)
        for block in self.layers:
            for w in (block.residual1[1].wo.weight, block.residual2[1].w2.weight,):
                w.mul_((2 * self.depth) ** -0.5)

    def resid(self, idx: "Int[Tokens, 'B T']") -> "Float[Tensor, 'B T d']":
        B, T = idx.shape
        pos: "Int[Tensor, 'T']" = torch.arange(T, device=idx.device)
        return self.W_E(idx) + self.W_P(pos).expand(B, T, -1)

    def forward(self, idx: "Int[Tokens, 'B T']", targets: "Optional[Int[Tokens, 'B T']]" = None) -> "Float[Logits, 'B T V']":
        T = idx.shape[1]
        assert idx.ndim == 2, f"expected (B, T), got {tuple(idx.shape)}"
        assert 1 <= T <= self.T_max, f"T = {T} is outside 1 to T_max = {self.T_max}"
        x = self.resid(idx)
        for layer in self.layers:
            y = layer(x)
            assert y.shape == x.shape, "a block must keep the shape"
            x = y
        logits = self.W_U(self.ln(x))
        if targets is None:
            return logits
        assert targets.shape == idx.shape
        log_probs = logits - logits.logsumexp(dim=-1, keepdim=True)
        loss = -torch.take_along_dim(log_probs, targets[..., None], dim=-1).mean()
        return logits, loss

    @torch.inference_mode()
    def generate(self, idx: "Int[Tokens, 'B T']", max_new_tokens: int, *, temperature: float = 1.0) -> "Int[Tokens, 'B S']":
        out = idx.new_empty((idx.shape[0], idx.shape[1] + max_new_tokens))
        out[:, : idx.shape[1]] = idx
        for end in range(idx.shape[1], out.shape[1]):
            logits = self(out[:, max(0, end - self.T_max) : end])[:, -1]
            out[:, end] = torch.multinomial((logits / temperature).softmax(-1), 1)[:, 0]
        return out


def shape_table(model: GPT, idx: "Int[Tokens, 'B T']") -> "list[tuple[str, tuple[int, ...]]]":
    x = model.resid(idx)
    table = [("embeddings", tuple(x.shape))]
    for l, layer in enumerate(model.layers, 1):
        x = layer(x)
        table.append((f"block {l}", tuple(x.shape)))
    x = model.ln(x)
    table.append(("final LayerNorm", tuple(x.shape)))
    table.append(("logits", tuple(model.W_U(x).shape)))
    return table
