"""Compute the correct GPT from a dict of tensors, in reading order.

Written independently of the reference solution, to check it too. Weights are stored as in the formula (row vectors
times matrices), not as nn.Linear stores them:

    tok (V, d)   pos (T_max, d)   per block l:   l.ln1.gain, l.ln1.bias, l.ln2.gain, l.ln2.bias (d,)
    l.q, l.k, l.v (H, d, d_head)  l.o (H, d_head, d)  l.o.bias (d,)
    l.up (d, 4d)  l.up.bias (4d,)  l.down (4d, d)  l.down.bias (d,)
    ln_f.gain, ln_f.bias (d,)     head (d, V)

``Steps`` are the small functions that it is made of. A row of ``mistakes/`` replaces one or two of them. Only methods
of tensors are used, so that the rows import without torch.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from functools import partial
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from torch import Tensor

Weights = Mapping[str, "Tensor"]
Function = Callable[["Tensor"], "Tensor"]
Sublayers = Callable[["Tensor", Function, Function, Function, Function], "Tensor"]  # x, norm1, attn, norm2, mlp
Blocks = Sequence[Function]
Run = Callable[["Tensor", Blocks], "Tensor"]
EPS = 1e-5


def normalise(x: Tensor) -> Tensor:
    """Centre (..., d) and divide by sqrt(biased variance + EPS)."""
    centred = x - x.mean(-1, keepdim=True)  # (..., d)
    variance = centred.square().sum(-1, keepdim=True) / x.shape[-1]  # (..., 1)
    return centred / (variance + EPS).sqrt()


def project(x: Tensor, w: Weights, name: str) -> Tensor:
    """Project (B, T, d) -> (B, H, T, d_head): queries, keys or values of all heads."""
    heads = x[:, None] @ w[name]  # (B, H, T, d_head)
    return heads + w[f"{name}.bias"][:, None] if f"{name}.bias" in w else heads


def is_later(scores: Tensor, offset: int = 1) -> Tensor:
    """Return the causal mask (T, T): True if key s is at least ``offset`` positions after query t."""
    return scores.new_ones(scores.shape[-2:]).triu(offset).bool()


def merge_heads(heads: Tensor) -> Tensor:
    """Concatenate the heads (B, H, T, d_head) -> (B, T, H d_head)."""
    return heads.transpose(1, 2).flatten(2)


def gelu(x: Tensor) -> Tensor:
    """Compute the exact GELU, x times the standard normal distribution function of x."""
    return x * 0.5 * (1 + (x / math.sqrt(2)).erf())


def compose_sublayers(x: Tensor, norm1: Function, attn: Function, norm2: Function, mlp: Function) -> Tensor:
    """Compose a block (B, T, d) -> (B, T, d): two pre-norm sublayers that add to the residual stream."""
    x = x + attn(norm1(x))
    return x + mlp(norm2(x))


def run_in_turn(x: Tensor, blocks: Sequence[Function]) -> Tensor:
    """Run the blocks (B, T, d) -> (B, T, d), each on the output of the one before."""
    for run_block in blocks:
        x = run_block(x)
    return x


def unembed(x: Tensor, w: Weights) -> Tensor:
    """Compute the logits (B, T, d) -> (B, T, V)."""
    return x @ w["head"] + w.get("head.bias", 0.0)


@dataclass(frozen=True, slots=True)
class Steps:
    """The steps of the computation, all correct by default; ``Steps(scale=...)`` changes the scale."""

    normalise: Function = normalise
    key: Callable[[Tensor, Weights, str], Tensor] = lambda x, w, at: project(x, w, f"{at}.k")
    value: Callable[[Tensor, Weights, str], Tensor] = lambda x, w, at: project(x, w, f"{at}.v")
    split: Function = lambda heads: heads  # of queries, keys and values (B, H, T, d_head)
    scale: Callable[[Tensor, int], float] = lambda q, d: 1 / math.sqrt(q.shape[-1])
    mask: Function = lambda scores: scores.masked_fill(is_later(scores), -math.inf)
    softmax: Function = lambda scores: scores.softmax(-1)
    attend: Callable[[Tensor, Tensor], Tensor] = lambda weights, v: weights @ v
    merge: Function = merge_heads
    project: Callable[[Tensor, Function], Tensor] = lambda merged, proj: proj(merged)
    feed_forward: Callable[[Tensor, Function, Function], Tensor] = lambda x, up, down: down(gelu(up(x)))
    output: Callable[[Tensor, Tensor], Tensor] = lambda x, out: out  # of attention or MLP, from its input and result
    sublayers: Sublayers = compose_sublayers
    embed: Callable[[Tensor, Tensor], Tensor] = lambda table, idx: table[idx]
    add_positions: Callable[[Tensor, Tensor, Tensor], Tensor] = lambda tok, pos, idx: tok + pos[: idx.shape[1]]
    run_blocks: Run = run_in_turn
    final_norm: Callable[[Tensor, Blocks, Function, Run], Tensor] = lambda x, blocks, norm, run: norm(run(x, blocks))
    unembed: Callable[[Tensor, Weights], Tensor] = unembed

    def changes(self) -> dict[str, Any]:
        """Return the steps that differ from the correct model's."""
        return {f.name: step for f in fields(self) if (step := getattr(self, f.name)) is not f.default}


RIGHT = Steps()
StepsByComponent = Mapping[str, Steps]  # "attention", "mlp", "block", "model"
ALL_RIGHT: StepsByComponent = MappingProxyType({})


def combine(steps: Iterable[Steps]) -> Steps:
    """Return the model with the changed steps of all of these."""
    return replace(RIGHT, **{name: step for each in steps for name, step in each.changes().items()})


def layer_norm(x: Tensor, gain: Tensor, bias: Tensor, steps: Steps = RIGHT) -> Tensor:
    """Compute LayerNorm (..., d) -> (..., d)."""
    return gain * steps.normalise(x) + bias


def attention_weights(x: Tensor, w: Weights, at: str, steps: Steps = RIGHT) -> Tensor:
    """Compute attention weights (B, T, d) -> (B, H, T, T): of query t for each key s <= t, per head."""
    q = steps.split(project(x, w, f"{at}.q"))  # (B, H, T, d_head)
    k = steps.split(steps.key(x, w, at))  # (B, H, T, d_head)
    scores = q @ k.mT * steps.scale(q, x.shape[-1])  # (B, H, T, T)
    return steps.softmax(steps.mask(scores))  # (B, H, T, T)


def attention(x: Tensor, w: Weights, at: str, steps: Steps = RIGHT) -> Tensor:
    """Compute attention (B, T, d) -> (B, T, d): H heads, concatenated, then the output projection."""
    v = steps.split(steps.value(x, w, at))  # (B, H, T, d_head)
    heads = steps.attend(attention_weights(x, w, at, steps), v)  # (B, H, T, d_head)
    merged = steps.merge(heads)  # (B, T, H d_head)
    out = steps.project(merged, lambda x: x @ w[f"{at}.o"].flatten(0, 1) + w.get(f"{at}.o.bias", 0.0))
    return steps.output(x, out)  # (B, T, d)


def mlp(x: Tensor, w: Weights, at: str, steps: Steps = RIGHT) -> Tensor:
    """Compute the MLP (..., d) -> (..., d): up-projection to 4d, GELU, down-projection."""
    up, down = (lambda x, name=name: x @ w[name] + w.get(f"{name}.bias", 0.0) for name in (f"{at}.up", f"{at}.down"))
    return steps.output(x, steps.feed_forward(x, up, down))


def compose(x: Tensor, w: Weights, at: str, attn: Function, mlp: Function, steps: Steps = RIGHT) -> Tensor:
    """Compose a block (B, T, d) -> (B, T, d) from its two LayerNorms and these sublayers."""
    norm1, norm2 = (
        partial(layer_norm, gain=w[f"{at}.{ln}.gain"], bias=w[f"{at}.{ln}.bias"], steps=steps) for ln in ("ln1", "ln2")
    )
    return steps.sublayers(x, norm1, attn, norm2, mlp)


def block(x: Tensor, w: Weights, at: str, steps: StepsByComponent = ALL_RIGHT) -> Tensor:
    """Compute a block (B, T, d) -> (B, T, d) with its own attention and MLP."""
    attn = partial(attention, w=w, at=at, steps=steps.get("attention", RIGHT))
    own_mlp = partial(mlp, w=w, at=at, steps=steps.get("mlp", RIGHT))
    return compose(x, w, at, attn, own_mlp, steps.get("block", RIGHT))


def stack(idx: Tensor, w: Weights, blocks: Blocks, steps: Steps = RIGHT) -> Tensor:
    """Compute logits (B, T) -> (B, T, V): embeddings, the blocks in turn, final LayerNorm, unembedding."""
    x = steps.add_positions(steps.embed(w["tok"], idx), w["pos"], idx)  # (B, T, d)
    norm = partial(layer_norm, gain=w["ln_f.gain"], bias=w["ln_f.bias"], steps=steps)
    x = steps.final_norm(x, blocks, norm, steps.run_blocks)  # (B, T, d)
    return steps.unembed(x, w)  # (B, T, V)


def make_blocks(w: Weights, order: Iterable[int], steps: StepsByComponent = ALL_RIGHT) -> list[Function]:
    """Return the blocks with these numbers, each with its own weights."""
    return [partial(block, w=w, at=str(number), steps=steps) for number in order]


def gpt(idx: Tensor, w: Weights, steps: StepsByComponent = ALL_RIGHT) -> Tensor:
    """Compute the logits (B, T) -> (B, T, V)."""
    L = sum(name.endswith(".ln1.gain") for name in w)
    return stack(idx, w, make_blocks(w, range(L), steps), steps.get("model", RIGHT))
