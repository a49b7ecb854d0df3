"""Compute the correct GPT from a dict of tensors, in reading order.

Written independently of the reference solution, to check it too. Weights are stored as in the formula (row vectors
times matrices), not as nn.Linear stores them:

    tok (V, d)   pos (T_max, d)   per block l:   l.ln1.gain, l.ln1.bias, l.ln2.gain, l.ln2.bias (d,)
    l.q, l.k, l.v (H, d, d_head)  l.o (H, d_head, d)  l.o.bias (d,)
    l.up (d, 4d)  l.up.bias (4d,)  l.down (4d, d)  l.down.bias (d,)
    ln_f.gain, ln_f.bias (d,)     head (d, V)

``steps`` maps a step of the computation to a wrong variant of it, as listed in ``mistakes/``; an empty dict is the
correct model. To read the correct model, skip every ``if`` on ``steps``: ``variants.py`` has the code for most of them.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType

import torch
from torch import Tensor

from autograder.assignment.oracle import variants
from autograder.assignment.oracle.variants import Function, Steps

Weights = Mapping[str, Tensor]
StepsByComponent = Mapping[str, Steps]  # "attention", "mlp", "block", "model"
RIGHT: Steps = MappingProxyType({})
EPS = 1e-5
ZERO = torch.zeros(())  # in place of a missing bias


def layer_norm(x: Tensor, gain: Tensor, bias: Tensor, steps: Steps = RIGHT) -> Tensor:
    """Normalise (..., d) -> (..., d): centre, divide by sqrt(biased variance + EPS), then gain and bias."""
    if "norm" in steps:
        return gain * variants.NORMS[steps["norm"]](x, eps=EPS) + bias
    centred = x - x.mean(-1, keepdim=True)  # (..., d)
    variance = centred.square().sum(-1, keepdim=True) / x.shape[-1]  # (..., 1)
    return gain * (centred / (variance + EPS).sqrt()) + bias  # (..., d)


# --- attention --------------------------------------------------------------------------------------------------------


def project(x: Tensor, w: Weights, name: str, steps: Steps = RIGHT) -> Tensor:
    """Project (B, T, d) -> (B, H, T, d_head): queries, keys or values of all heads."""
    heads = x[:, None] @ w[name]  # (B, H, T, d_head)
    if f"{name}.bias" in w:
        heads = heads + w[f"{name}.bias"][:, None]
    return variants.split_without_transpose(heads) if "split" in steps else heads


@functools.cache
def causal_mask(T: int) -> Tensor:
    """Return the mask (T, T), True if query t must not attend to key s, as s > t."""
    return torch.arange(T)[None, :] > torch.arange(T)[:, None]


def attention_weights(x: Tensor, w: Weights, at: str, steps: Steps = RIGHT) -> Tensor:
    """Compute attention weights (B, T, d) -> (B, H, T, T): of query t for each key s <= t, per head."""
    q = project(x, w, f"{at}.q", steps)  # (B, H, T, d_head)
    k = project(x, w, f"{at}.{steps.get('key', 'k')}", steps)  # (B, H, T, d_head)
    scale, future = 1 / math.sqrt(q.shape[-1]), causal_mask(x.shape[1])
    if steps.keys() & {"scale", "mask", "softmax"}:
        return variants.attention_weights(q, k, scale, future, steps, d=x.shape[-1])
    scores = q @ k.mT * scale  # (B, H, T, T)
    return torch.softmax(scores.masked_fill(future, -math.inf), -1)  # (B, H, T, T)


def attention(x: Tensor, w: Weights, at: str, steps: Steps = RIGHT) -> Tensor:
    """Compute attention (B, T, d) -> (B, T, d): H heads, concatenated, then the output projection."""
    if "axis" in steps:
        rest = {step: variant for step, variant in steps.items() if step != "axis"}
        return attention(x.transpose(0, 1), w, at, rest).transpose(0, 1)
    B, T, _ = x.shape
    value = steps.get("value", "v" if f"{at}.v" in w else "input")
    if value == "input":
        v = variants.input_as_values(x, w[f"{at}.o"], steps)
    else:
        v = project(x, w, f"{at}.{value}", steps)  # (B, H, T, d_head)
    weights = attention_weights(x, w, at, steps)  # (B, H, T, T)
    if "weights" in steps:
        weights = weights.mT
    heads = weights @ v  # (B, H, T, d_head)
    if "merge" not in steps:
        heads = heads.transpose(1, 2)  # (B, T, H, d_head)
    merged = heads.reshape(B, T, -1)  # (B, T, H d_head)

    def proj(x: Tensor) -> Tensor:
        return x @ w[f"{at}.o"].flatten(0, 1) + w.get(f"{at}.o.bias", ZERO)

    if steps.keys() & {"project", "add"}:
        return variants.project_heads(x, merged, proj, gelu, steps)
    return proj(merged)  # (B, T, d)


# --- MLP --------------------------------------------------------------------------------------------------------------


def gelu(x: Tensor) -> Tensor:
    """Compute the exact GELU, x times the standard normal distribution function of x."""
    return x * 0.5 * (1 + torch.erf(x / math.sqrt(2)))


def mlp(x: Tensor, w: Weights, at: str, steps: Steps = RIGHT) -> Tensor:
    """Compute the MLP (..., d) -> (..., d): up-projection to 4d, GELU, down-projection."""

    def up(x: Tensor) -> Tensor:
        return x @ w[f"{at}.up"] + w.get(f"{at}.up.bias", ZERO)

    def down(x: Tensor) -> Tensor:
        return x @ w[f"{at}.down"] + w.get(f"{at}.down.bias", ZERO)

    if steps.keys() & {"activation", "add"}:
        return variants.mlp(x, up, gelu, down, steps)
    hidden = gelu(up(x))  # (..., 4d)
    return down(hidden)  # (..., d)


# --- block ------------------------------------------------------------------------------------------------------------


def compose(x: Tensor, w: Weights, at: str, attn: Function, mlp: Function, steps: Steps = RIGHT) -> Tensor:
    """Compose a block (B, T, d) -> (B, T, d): two pre-norm sublayers that add to the residual stream."""
    norm1, norm2 = (
        functools.partial(layer_norm, gain=w[f"{at}.{ln}.gain"], bias=w[f"{at}.{ln}.bias"], steps=steps)
        for ln in ("ln1", "ln2")
    )
    if "block" in steps:
        return variants.BLOCKS[steps["block"]](x, norm1, attn, norm2, mlp)
    x = x + attn(norm1(x))  # (B, T, d)
    return x + mlp(norm2(x))  # (B, T, d)


def block(x: Tensor, w: Weights, at: str, steps: StepsByComponent = MappingProxyType({})) -> Tensor:
    """Compute a block (B, T, d) -> (B, T, d) with its own attention and MLP."""
    attn = functools.partial(attention, w=w, at=at, steps=steps.get("attention", RIGHT))
    own_mlp = functools.partial(mlp, w=w, at=at, steps=steps.get("mlp", RIGHT))
    return compose(x, w, at, attn, own_mlp, steps.get("block", RIGHT))


# --- model ------------------------------------------------------------------------------------------------------------


def stack(idx: Tensor, w: Weights, blocks: Sequence[Function], steps: Steps = RIGHT) -> Tensor:
    """Compute logits (B, T) -> (B, T, V): embeddings, the blocks in turn, final LayerNorm, unembedding."""
    tok = w["tok"][idx]  # (B, T, d)
    if "embedding" in steps:
        tok = variants.EMBEDDINGS[steps["embedding"]](tok)
    if "positions" in steps:
        x = variants.POSITIONS[steps["positions"]](tok, w["pos"], idx)
    else:
        x = tok + w["pos"][: idx.shape[1]]  # (B, T, d)
    norm = functools.partial(layer_norm, gain=w["ln_f.gain"], bias=w["ln_f.bias"], steps=steps)
    if steps.keys() & {"blocks", "final_norm"}:
        x = variants.run_blocks(x, blocks, norm, steps)
    else:
        for run_block in blocks:
            x = run_block(x)  # (B, T, d)
        x = norm(x)  # (B, T, d)
    head = w["tok"].T if steps.get("logits") == "from_embedding" else w["head"]  # (d, V)
    logits = x @ head + w.get("head.bias", ZERO)  # (B, T, V)
    if steps.get("logits") in variants.LOGITS:
        return variants.LOGITS[steps["logits"]](logits, x)
    return logits


def make_blocks(w: Weights, order: Iterable[int], steps: StepsByComponent = MappingProxyType({})) -> list[Function]:
    """Return the blocks with these numbers, each with its own weights."""
    return [functools.partial(block, w=w, at=str(number), steps=steps) for number in order]


def gpt(idx: Tensor, w: Weights, steps: StepsByComponent = MappingProxyType({})) -> Tensor:
    """Compute the logits (B, T) -> (B, T, V)."""
    L = sum(name.endswith(".ln1.gain") for name in w)
    return stack(idx, w, make_blocks(w, range(L), steps), steps.get("model", RIGHT))
