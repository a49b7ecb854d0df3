"""The right model, as functions of a dict of tensors. Written apart from the reference solution, to check it too.

Weights are stored as the formula reads (row vectors times matrices), not as nn.Linear keeps them:

    tok (V, d)   pos (T_max, d)   per block l:   l.ln1.gain, l.ln1.bias, l.ln2.gain, l.ln2.bias (d,)
    l.q, l.k, l.v (H, d, d_head)  l.o (H, d_head, d)  l.o.bias (d,)
    l.up (d, 4d)  l.up.bias (4d,)  l.down (4d, d)  l.down.bias (d,)
    ln_f.gain, ln_f.bias (d,)     head (d, V)
"""

from __future__ import annotations

import math

import torch
from torch import Tensor

Weights = dict[str, Tensor]
EPS = 1e-5


def layer_norm(x: Tensor, gain: Tensor, bias: Tensor) -> Tensor:
    """(..., d) -> (..., d): centred, divided by the root of the biased variance plus EPS, then gain and bias."""
    centred = x - x.mean(-1, keepdim=True)  # (..., d)
    return gain * centred / (centred.square().mean(-1, keepdim=True) + EPS).sqrt() + bias


def gelu(x: Tensor) -> Tensor:
    """x times the standard normal distribution function at x."""
    return x * 0.5 * (1 + torch.erf(x / math.sqrt(2)))


def attention_rows(x: Tensor, w: Weights, at: str) -> Tensor:
    """(B, T, d) -> (B, H, T, T): how much position t reads from each s <= t, per head."""
    T = x.shape[1]
    q = torch.einsum("btd,hdk->bhtk", x, w[f"{at}.q"])
    k = torch.einsum("bsd,hdk->bhsk", x, w[f"{at}.k"])
    scores = torch.einsum("bhtk,bhsk->bhts", q, k) / math.sqrt(q.shape[-1])  # (B, H, T, T)
    future = torch.arange(T)[None, :] > torch.arange(T)[:, None]  # (T, T)
    return torch.softmax(scores.masked_fill(future, -math.inf), -1)


def attention(x: Tensor, w: Weights, at: str) -> Tensor:
    """(B, T, d) -> (B, T, d): H heads, each through its own rows of the output projection, summed."""
    read = torch.einsum("bhts,bsd,hdk->bhtk", attention_rows(x, w, at), x, w[f"{at}.v"])
    return torch.einsum("bhtk,hkd->btd", read, w[f"{at}.o"]) + w[f"{at}.o.bias"]


def mlp(x: Tensor, w: Weights, at: str) -> Tensor:
    """(..., d) -> (..., d): up to 4d, GELU, down again."""
    return gelu(x @ w[f"{at}.up"] + w[f"{at}.up.bias"]) @ w[f"{at}.down"] + w[f"{at}.down.bias"]


def block(x: Tensor, w: Weights, at: str) -> Tensor:
    """(B, T, d) -> (B, T, d): two sublayers, each reading the stream through a norm and adding to it."""
    x = x + attention(layer_norm(x, w[f"{at}.ln1.gain"], w[f"{at}.ln1.bias"]), w, at)
    return x + mlp(layer_norm(x, w[f"{at}.ln2.gain"], w[f"{at}.ln2.bias"]), w, at)


def gpt(idx: Tensor, w: Weights) -> Tensor:
    """(B, T) -> (B, T, V): the logits."""
    x = w["tok"][idx] + w["pos"][: idx.shape[1]]  # (B, T, d)
    for at in range(sum(name.endswith(".ln1.gain") for name in w)):
        x = block(x, w, str(at))
    return layer_norm(x, w["ln_f.gain"], w["ln_f.bias"]) @ w["head"]
