"""Compute the correct model, and its variants with known mistakes, as functions of a dict of tensors.

Written independently of the reference solution, to check it too. Weights are stored as in the formula (row vectors
times matrices), not as nn.Linear stores them:

    tok (V, d)   pos (T_max, d)   per block l:   l.ln1.gain, l.ln1.bias, l.ln2.gain, l.ln2.bias (d,)
    l.q, l.k, l.v (H, d, d_head)  l.o (H, d_head, d)  l.o.bias (d,)
    l.up (d, 4d)  l.up.bias (4d,)  l.down (4d, d)  l.down.bias (d,)
    ln_f.gain, ln_f.bias (d,)     head (d, V)

``how`` maps a step to a wrong way of computing it; an empty dict is the correct model. The ways are listed in
``mistakes/``, and only this file computes them. ``ways`` holds a ``how`` for each component: "attention", "mlp",
"block", "model".
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from types import MappingProxyType

import torch
from torch import Tensor

Weights = Mapping[str, Tensor]
How = Mapping[str, str]
Ways = Mapping[str, How]
RIGHT: How = {}
EPS = 1e-5
ZERO = torch.zeros(())

NORM_AXES: dict[str, int | tuple[int, int]] = {"over time": -2, "over batch": 0, "over both": (-2, -1)}

# --- LayerNorm --------------------------------------------------------------------------------------------------------


def layer_norm(x: Tensor, gain: Tensor, bias: Tensor, steps: How = RIGHT) -> Tensor:
    """Normalise (..., d) -> (..., d): centre, divide by sqrt(biased variance + EPS), then gain and bias."""
    way = steps.get("norm", "")
    axis: int | tuple[int, int] = NORM_AXES.get(way, -1)
    centred = x - (0 if way == "not centred" else x.mean(axis, keepdim=True))  # (..., d)
    terms = math.prod(x.shape[i] for i in (axis if isinstance(axis, tuple) else (axis,)))
    terms -= way.startswith("unbiased")
    variance = centred.square().sum(axis, keepdim=True) / terms
    eps = {"eps 1": 1.0, "eps 1e-3": 1e-3, "eps 1e-6": 1e-6, "eps 1e-12": 1e-12}.get(way, EPS)
    spread = variance.sqrt() + eps if way.endswith("eps outside") else (variance + eps).sqrt()
    if way == "by variance":
        spread = variance + eps
    return gain * (centred if way == "not divided" else centred / spread) + bias


# --- attention --------------------------------------------------------------------------------------------------------

SCALES: dict[str, Callable[[int, int, int, int], float]] = {
    "": lambda d, H, d_head, T: 1 / math.sqrt(d_head),
    "sqrt d": lambda d, H, d_head, T: 1 / math.sqrt(d),
    "d_head": lambda d, H, d_head, T: 1 / d_head,
    "d": lambda d, H, d_head, T: 1 / d,
    "times sqrt d_head": lambda d, H, d_head, T: math.sqrt(d_head),
    "times d_head": lambda d, H, d_head, T: d_head,
    "sqrt T": lambda d, H, d_head, T: 1 / math.sqrt(T),
    "sqrt H": lambda d, H, d_head, T: 1 / math.sqrt(H),
    "none": lambda d, H, d_head, T: 1.0,
    "after": lambda d, H, d_head, T: 1.0,
    "negative": lambda d, H, d_head, T: -1 / math.sqrt(d_head),
}
FUTURES: dict[str, Callable[[Tensor, Tensor], Tensor]] = {  # query t must not attend to key s
    "": lambda t, s: s > t,
    "upside down": lambda t, s: s < t,
    "inverted": lambda t, s: s <= t,
    "one more": lambda t, s: s > t + 1,
    "strict": lambda t, s: s >= t,
    "diagonal only": lambda t, s: s != t,
}
FILLS = {"zero": 0.0, "-1": -1.0, "-5": -5.0, "-10": -10.0, "+1e9": 1e9}
EMPTY = ("inverted", "strict")  # these mask a whole row; students see a result only with a finite fill
AXES = {"": -1, "queries": -2, "heads": 1, "batch": 0}


def project(x: Tensor, w: Weights, name: str, steps: How) -> Tensor:
    """Project (B, T, d) -> (B, H, T, d_head): queries, keys or values of all heads."""
    made = x[:, None] @ w[name]
    bias = w.get(f"{name}.bias")  # (H, d_head)
    return split_heads(made if bias is None else made + bias[:, None], steps)


def split_heads(made: Tensor, steps: How) -> Tensor:
    """Return (B, H, T, d_head) as it is, or as a wrong view of (B, T, H, d_head) gives it."""
    return made.transpose(1, 2).reshape(made.shape) if steps.get("split") == "by view" else made


@functools.cache
def masked_from(way: str, T: int) -> Tensor:
    """Return the mask (T, T), True if query t must not attend to key s."""
    return FUTURES.get(way, FUTURES[""])(torch.arange(T)[:, None], torch.arange(T)[None, :])


def attention_rows(x: Tensor, w: Weights, at: str, steps: How = RIGHT) -> Tensor:
    """Compute attention weights (B, T, d) -> (B, H, T, T): of query t for each key s <= t, per head."""
    T, d = x.shape[1:]
    q, k = project(x, w, f"{at}.q", steps), project(x, w, f"{at}.{steps.get('key', 'k')}", steps)
    H, d_head = q.shape[1], q.shape[-1]
    scores = q @ k.mT * SCALES[steps.get("scale", "")](d, H, d_head, T)  # (B, H, T, T)
    way, softmax = steps.get("mask", ""), steps.get("softmax", "")
    axis = AXES.get(softmax, -1)
    # Other softmax axes have fully masked slices; students see a result only with a finite fill.
    fill = -math.inf if axis in (-1, -2) and way not in EMPTY else -1e9
    future = masked_from(way, T)
    if softmax == "none":
        return scores.masked_fill(future, 0.0)
    if way in ("none", "after"):
        hidden = scores
    elif way == "uniform":
        hidden = torch.zeros_like(scores).masked_fill(future, fill)
    else:
        hidden = scores.masked_fill(future, FILLS.get(way, fill))
    rows = torch.softmax(hidden, axis)
    rows = torch.softmax(rows, axis) if softmax == "twice" else rows
    rows = rows / math.sqrt(d_head) if steps.get("scale") == "after" else rows
    return rows.masked_fill(future, 0.0) if way == "after" else rows


def attention(x: Tensor, w: Weights, at: str, steps: How = RIGHT) -> Tensor:
    """Compute attention (B, T, d) -> (B, T, d): H heads, concatenated, then the output projection."""
    if steps.get("over") == "batch":
        return attention(x.transpose(0, 1), w, at, {**steps, "over": ""}).transpose(0, 1)
    way = steps.get("value", "v" if f"{at}.v" in w else "input")
    if way == "input":
        H, width, _ = w[f"{at}.o"].shape  # each head gets a slice of x, or all of it
        value = split_heads(x.reshape(*x.shape[:2], -1, width).expand(-1, -1, H, -1).transpose(1, 2), steps)
    else:
        value = project(x, w, f"{at}.{way}", steps)
    rows = attention_rows(x, w, at, steps)
    read = (rows.mT if steps.get("read") == "transposed" else rows) @ value  # (B, H, T, d_head)
    B, _, T, _ = read.shape
    joined = read.transpose(1, 2) if steps.get("merge") != "without transpose" else read
    joined = joined.reshape(B, T, -1)  # (B, T, H d_head)
    if steps.get("project") == "none":
        return joined
    way, matrix, bias = (
        steps.get("project", ""),
        w[f"{at}.o"].reshape(joined.shape[-1], -1),
        w.get(f"{at}.o.bias", ZERO),
    )
    out = joined @ matrix + bias
    if way == "twice":
        out = out @ matrix + bias
    if steps.get("add") == "input":
        return x + out
    return {"relu": torch.relu, "gelu": ACTIVATIONS[""]}.get(way, ACTIVATIONS["none"])(out)


# --- MLP --------------------------------------------------------------------------------------------------------------

ACTIVATIONS: dict[str, Callable[[Tensor], Tensor]] = {
    "": lambda x: x * 0.5 * (1 + torch.erf(x / math.sqrt(2))),
    "doubled": lambda x: ACTIVATIONS[""](ACTIVATIONS[""](x)),
    "gelu tanh": lambda x: 0.5 * x * (1 + torch.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3))),
    "gelu sigmoid": lambda x: x * torch.sigmoid(1.702 * x),
    "relu": torch.relu,
    "leaky relu": lambda x: torch.where(x > 0, x, 0.01 * x),
    "relu squared": lambda x: torch.relu(x).square(),
    "elu": lambda x: torch.where(x > 0, x, torch.expm1(x)),
    "silu": lambda x: x * torch.sigmoid(x),
    "mish": lambda x: x * torch.tanh(torch.nn.functional.softplus(x)),
    "softplus": lambda x: torch.nn.functional.softplus(x),
    "softmax": lambda x: torch.softmax(x, -1),
    "tanh": torch.tanh,
    "sigmoid": torch.sigmoid,
    "none": lambda x: x,
}


def mlp(x: Tensor, w: Weights, at: str, steps: How = RIGHT) -> Tensor:
    """Compute the MLP (..., d) -> (..., d): up-projection to 4d, GELU, down-projection."""
    way = steps.get("activation", "")
    outside = ("before", "after", "twice")  # GELU not, or not only, between the two projections
    gelu, same = ACTIVATIONS[""], ACTIVATIONS["none"]
    between = gelu if way == "twice" else ACTIVATIONS["none" if way in outside else way]
    given = gelu(x) if way == "before" else x
    inside = between(given @ w[f"{at}.up"] + w.get(f"{at}.up.bias", ZERO))
    out = (gelu if way in ("after", "twice") else same)(inside @ w[f"{at}.down"] + w.get(f"{at}.down.bias", ZERO))
    return x + out if steps.get("add") == "input" else out


# --- block ------------------------------------------------------------------------------------------------------------

Part = Callable[[Tensor], Tensor]


def compose(x: Tensor, w: Weights, at: str, attend: Part, think: Part, steps: How = RIGHT) -> Tensor:
    """Compose a block (B, T, d) -> (B, T, d): two pre-norm sublayers that add to the residual stream."""

    def norm(number: int, x: Tensor) -> Tensor:
        return layer_norm(x, w[f"{at}.ln{number}.gain"], w[f"{at}.ln{number}.bias"], steps)

    way = steps.get("block", "")
    if way == "post-norm":
        x = norm(1, x + attend(x))
        return norm(2, x + think(x))
    if way == "norm after sublayer":
        x = x + norm(1, attend(x))
        return x + norm(2, think(x))
    if way == "parallel":
        return x + attend(norm(1, x)) + think(norm(2, x))
    if way == "mlp first":
        x = x + think(norm(2, x))
        return x + attend(norm(1, x))
    first, second = (think if way == "mlp twice" else attend), (attend if way == "attention twice" else think)
    unread = {"no norms": (1, 2), "first norm missing": (1,), "second norm missing": (2,)}.get(way, ())
    read = x if 1 in unread else norm(1, x)
    keep = {"no residual": 0, "no first residual": 0, "first doubled": 2}.get(way, 1)
    add = {"no attention": 0, "first subtracted": -1, "both subtracted": -1}.get(way, 1)
    normed = way in ("residual around normed", "first residual around normed")
    between = keep * (read if normed else x) + add * first(read)
    read = between if 2 in unread else norm(1 if way == "first norm twice" else 2, between)
    keep = {"no residual": 0, "no second residual": 0, "second doubled": 2}.get(way, 1)
    add = {"no mlp": 0, "second subtracted": -1, "both subtracted": -1}.get(way, 1)
    stream = read if way in ("residual around normed", "second residual around normed") else between
    return keep * (x if way == "second from input" else stream) + add * second(read)


def block(x: Tensor, w: Weights, at: str, ways: Ways = MappingProxyType({})) -> Tensor:
    """Compute a block (B, T, d) -> (B, T, d) with its own attention and MLP."""

    def attend(x: Tensor) -> Tensor:
        return attention(x, w, at, ways.get("attention", RIGHT))

    def think(x: Tensor) -> Tensor:
        return mlp(x, w, at, ways.get("mlp", RIGHT))

    return compose(x, w, at, attend, think, ways.get("block", RIGHT))


# --- model ------------------------------------------------------------------------------------------------------------


def stack(idx: Tensor, w: Weights, blocks: Sequence[Part], steps: How = RIGHT) -> Tensor:
    """Compute logits (B, T) -> (B, T, V): embeddings, the blocks in turn, final LayerNorm, unembedding."""
    B, T = idx.shape
    factor = {"times sqrt d": math.sqrt(w["tok"].shape[1]), "none": 0}.get(steps.get("embedding", ""), 1)
    x = w["tok"][idx] * factor  # (B, T, d)
    way, places = steps.get("positions", ""), w["pos"]
    if way == "multiplied":
        x = x * places[:T]
    elif way != "none":
        x = (
            x
            + {
                "subtracted": lambda: -places[:T],
                "reversed": lambda: places[:T].flip(0),
                "from one": lambda: places[1 : T + 1],
                "from the end": lambda: places[-T:],
                "of the first": lambda: places[0],
                "of the last": lambda: places[T - 1],
                "by token": lambda: places[idx.clamp(max=len(places) - 1)],
                "by row": lambda: places[:B, None],
            }.get(way, lambda: places[:T])()
        )
    final = steps.get("final norm", "")

    def norm(x: Tensor) -> Tensor:
        return layer_norm(x, w["ln_f.gain"], w["ln_f.bias"], steps)

    x = norm(x) if final in ("first", "both") else x
    way, first = steps.get("stack", ""), x
    for part in {"last block missing": blocks[:-1], "no block": []}.get(way, blocks):
        x = x + part(x) if way == "extra residual" else part(first if way == "from the embeddings" else x)
        x = norm(x) if final == "in the loop" else x
    x = norm(x) if final in ("", "both") else x
    way = steps.get("logits", "")
    logits = x @ (w["tok"].T if way == "of the embedding" else w["head"]) + w.get("head.bias", ZERO)
    return {
        "softmax": lambda: torch.softmax(logits, -1),
        "log softmax": lambda: torch.log_softmax(logits, -1),
        "divided": lambda: logits / math.sqrt(x.shape[-1]),
    }.get(way, lambda: logits)()


def blocks(w: Weights, order: Iterable[int], ways: Ways = MappingProxyType({})) -> list[Part]:
    """Return the blocks with these numbers, each with its own weights."""
    return [functools.partial(block, w=w, at=str(number), ways=ways) for number in order]


def gpt(idx: Tensor, w: Weights, ways: Ways = MappingProxyType({})) -> Tensor:
    """Compute the logits (B, T) -> (B, T, V)."""
    L = sum(name.endswith(".ln1.gain") for name in w)
    return stack(idx, w, blocks(w, range(L), ways), ways.get("model", RIGHT))
