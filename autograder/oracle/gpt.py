"""The right model, as functions of a dict of tensors, and what known mistakes make of it.

Written apart from the reference solution, to check it too. Weights are stored as the formula reads (row vectors times
matrices), not as nn.Linear keeps them:

    tok (V, d)   pos (T_max, d)   per block l:   l.ln1.gain, l.ln1.bias, l.ln2.gain, l.ln2.bias (d,)
    l.q, l.k, l.v (H, d, d_head)  l.o (H, d_head, d)  l.o.bias (d,)
    l.up (d, 4d)  l.up.bias (4d,)  l.down (4d, d)  l.down.bias (d,)
    ln_f.gain, ln_f.bias (d,)     head (d, V)

``how`` names, step by step, another way than the right one; an empty dict is the right model. The ways are listed in
``mistakes.py``, so that this file is the only one that knows what they compute.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping

import torch
from torch import Tensor

Weights = Mapping[str, Tensor]
How = Mapping[str, str]
RIGHT: How = {}
EPS = 1e-5


NORM_AXES: dict[str, int | tuple[int, int]] = {"over time": -2, "over batch": 0, "over both": (-2, -1)}

# --- LayerNorm --------------------------------------------------------------------------------------------------------


def layer_norm(x: Tensor, gain: Tensor, bias: Tensor, how: How = RIGHT) -> Tensor:
    """(..., d) -> (..., d): centred, divided by the root of the biased variance plus EPS, then gain and bias."""
    way = how.get("norm", "")
    axis: int | tuple[int, int] = NORM_AXES.get(way, -1)
    centred = x - (0 if way == "not centred" else x.mean(axis, keepdim=True))  # (..., d)
    terms = math.prod(x.shape[i] for i in (axis if isinstance(axis, tuple) else (axis,))) - (way == "unbiased")
    variance = centred.square().sum(axis, keepdim=True) / terms
    eps = {"eps 1": 1.0, "eps 1e-3": 1e-3, "eps 1e-6": 1e-6, "eps 1e-12": 1e-12}.get(way, EPS)
    spread = variance.sqrt() + eps if way == "eps outside" else (variance + eps).sqrt()
    return gain * centred / spread + bias


# --- attention --------------------------------------------------------------------------------------------------------

SCALES: dict[str, Callable[[int, int, int], float]] = {
    "": lambda d, d_head, T: 1 / math.sqrt(d_head),
    "sqrt d": lambda d, d_head, T: 1 / math.sqrt(d),
    "d_head": lambda d, d_head, T: 1 / d_head,
    "times sqrt d_head": lambda d, d_head, T: math.sqrt(d_head),
    "sqrt T": lambda d, d_head, T: 1 / math.sqrt(T),
    "none": lambda d, d_head, T: 1.0,
}
AXES = {"": -1, "queries": -2, "heads": 1, "batch": 0}


def projected(x: Tensor, w: Weights, name: str, how: How) -> Tensor:
    """(B, T, d) -> (B, H, T, d_head): queries, keys or values of all heads."""
    made = torch.einsum("btd,hdk->bthk", x, w[name]) + w.get(f"{name}.bias", torch.zeros(()))
    B, T, H, d_head = made.shape
    return made.reshape(B, H, T, d_head) if how.get("split") == "by view" else made.transpose(1, 2)


def attention_rows(x: Tensor, w: Weights, at: str, how: How = RIGHT) -> Tensor:
    """(B, T, d) -> (B, H, T, T): how much position t reads from each s <= t, per head."""
    T, d = x.shape[1:]
    q, k = projected(x, w, f"{at}.q", how), projected(x, w, f"{at}.{how.get('key', 'k')}", how)
    scores = torch.einsum("bhtk,bhsk->bhts", q, k) * SCALES[how.get("scale", "")](d, q.shape[-1], T)  # (B, H, T, T)
    t, s = torch.arange(T)[:, None], torch.arange(T)[None, :]
    way, axis = how.get("mask", ""), AXES[how.get("softmax", "")]
    # On another axis whole columns are masked: what students then see come from a finite fill.
    fill = -math.inf if axis == -1 or axis == -2 else -1e9
    future = {"upside down": s < t, "one more": s > t + 1, "strict": s >= t}.get(way, s > t)  # (T, T)
    if way in ("none", "after"):
        hidden = scores
    elif way == "uniform":
        hidden = torch.zeros_like(scores).masked_fill(future, fill)
    else:
        hidden = scores.masked_fill(future, {"zero": 0.0, "-10": -10.0}.get(way, fill))
    rows = torch.softmax(hidden, axis)
    return rows.masked_fill(future, 0.0) if way == "after" else rows


def attention(x: Tensor, w: Weights, at: str, how: How = RIGHT) -> Tensor:
    """(B, T, d) -> (B, T, d): H heads, each through its own rows of the output projection, summed."""
    if how.get("over") == "batch":
        return attention(x.transpose(0, 1), w, at, {**how, "over": ""}).transpose(0, 1)
    value = projected(x, w, f"{at}.{how.get('value', 'v')}", how)
    read = attention_rows(x, w, at, how) @ value  # (B, H, T, d_head)
    B, _, T, _ = read.shape
    joined = read.transpose(1, 2) if how.get("merge") != "without transpose" else read
    joined = joined.reshape(B, T, -1)  # (B, T, H d_head)
    if how.get("project") == "none":
        return joined
    out = joined @ w[f"{at}.o"].reshape(joined.shape[-1], -1) + w.get(f"{at}.o.bias", torch.zeros(()))
    if how.get("add") == "input":
        return x + out
    return torch.relu(out) if how.get("project") == "relu" else out


# --- MLP --------------------------------------------------------------------------------------------------------------

ACTIVATIONS: dict[str, Callable[[Tensor], Tensor]] = {
    "": lambda x: x * 0.5 * (1 + torch.erf(x / math.sqrt(2))),
    "gelu tanh": lambda x: 0.5 * x * (1 + torch.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3))),
    "gelu sigmoid": lambda x: x * torch.sigmoid(1.702 * x),
    "relu": torch.relu,
    "leaky relu": lambda x: torch.where(x > 0, x, 0.01 * x),
    "silu": lambda x: x * torch.sigmoid(x),
    "tanh": torch.tanh,
    "sigmoid": torch.sigmoid,
    "none": lambda x: x,
}


def mlp(x: Tensor, w: Weights, at: str, how: How = RIGHT) -> Tensor:
    """(..., d) -> (..., d): up to 4d, GELU, down again."""
    way = how.get("activation", "")
    zero = torch.zeros(())
    inside = x @ w[f"{at}.up"] + w.get(f"{at}.up.bias", zero)
    if way == "after":
        return ACTIVATIONS[""](inside @ w[f"{at}.down"] + w.get(f"{at}.down.bias", zero))
    twice = ACTIVATIONS[""] if way == "twice" else ACTIVATIONS["none"]
    inside = ACTIVATIONS["" if way == "twice" else way](inside)
    out = twice(inside @ w[f"{at}.down"] + w.get(f"{at}.down.bias", zero))
    return x + out if how.get("add") == "input" else out


# --- block ------------------------------------------------------------------------------------------------------------

Part = Callable[[Tensor], Tensor]


def composed(x: Tensor, w: Weights, at: str, attend: Part, think: Part, how: How = RIGHT) -> Tensor:
    """(B, T, d) -> (B, T, d): two sublayers, each reading the stream through a norm and adding to it."""

    def norm(number: int, x: Tensor) -> Tensor:
        return layer_norm(x, w[f"{at}.ln{number}.gain"], w[f"{at}.ln{number}.bias"], how)

    way = how.get("block", "")
    if way == "post-norm":
        x = norm(1, x + attend(x))
        return norm(2, x + think(x))
    if way == "residual around normed":
        x = norm(1, x)
        x = x + attend(x)
        x = norm(2, x)
        return x + think(x)
    if way == "parallel":
        return x + attend(norm(1, x)) + think(norm(2, x))
    if way == "mlp first":
        x = x + think(norm(2, x))
        return x + attend(norm(1, x))
    if way == "no norms":
        x = x + attend(x)
        return x + think(x)
    if way == "first norm missing":
        x = x + attend(x)
        return x + think(norm(2, x))
    if way == "second norm missing":
        x = x + attend(norm(1, x))
        return x + think(x)
    second = 1 if way == "first norm twice" else 2
    keep = 0 if way in ("no residual", "no first residual") else 1
    between = keep * x + attend(norm(1, x))
    added = think(norm(second, between))
    if way in ("no residual", "no second residual"):
        return added
    return (x if way == "second from input" else between) + added


def block(x: Tensor, w: Weights, at: str, how: How = RIGHT) -> Tensor:
    """(B, T, d) -> (B, T, d): the block with its own attention and MLP."""
    return composed(x, w, at, lambda x: attention(x, w, at, how), lambda x: mlp(x, w, at, how), how)


# --- model ------------------------------------------------------------------------------------------------------------


def stacked(idx: Tensor, w: Weights, blocks: list[Part], how: How = RIGHT) -> Tensor:
    """(B, T) -> (B, T, V): embeddings, the blocks one after the other, final LayerNorm, unembedding."""
    B, T = idx.shape
    factor = math.sqrt(w["tok"].shape[1]) if how.get("embedding") == "times sqrt d" else 1
    x = w["tok"][idx] * factor  # (B, T, d)
    way = how.get("positions", "")
    if way == "reversed":
        x = x + w["pos"][:T].flip(0)
    elif way == "from one":
        x = x + w["pos"][1 : T + 1]
    elif way == "by token":
        x = x + w["pos"][idx.clamp(max=len(w["pos"]) - 1)]
    elif way == "by row":
        x = x + w["pos"][:B, None]
    elif way != "none":
        x = x + w["pos"][:T]
    if how.get("final norm") == "first":
        x = layer_norm(x, w["ln_f.gain"], w["ln_f.bias"], how)
    way, first = how.get("stack", ""), x
    for part in blocks[:-1] if way == "last block missing" else blocks:
        x = x + part(x) if way == "extra residual" else part(first if way == "from the embeddings" else x)
    if how.get("final norm") not in ("none", "first"):
        x = layer_norm(x, w["ln_f.gain"], w["ln_f.bias"], how)
    logits = x @ w["head"] + w.get("head.bias", torch.zeros(()))
    return torch.softmax(logits, -1) if how.get("logits") == "softmax" else logits


def gpt(idx: Tensor, w: Weights, how: How = RIGHT) -> Tensor:
    """(B, T) -> (B, T, V): the logits."""
    L = sum(name.endswith(".ln1.gain") for name in w)
    parts: list[Part] = [lambda x, at=str(at): block(x, w, at, how) for at in range(L)]  # type: ignore[misc]
    return stacked(idx, w, parts, how)
