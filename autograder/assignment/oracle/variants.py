"""Compute the steps of ``model.py`` wrongly, one variant for each known mistake.

A variant is named as its row in ``mistakes/``, without the component. Steps that interact, such as mask and softmax,
share a function.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from functools import partial

import torch
from torch import Tensor

Steps = Mapping[str, str]  # from a step to its variant
Function = Callable[[Tensor], Tensor]

# --- LayerNorm --------------------------------------------------------------------------------------------------------


def normalise(
    x: Tensor, eps: float, axes: tuple[int, ...] = (-1,), correction: int = 0, outside: bool = False
) -> Tensor:
    """Normalise over ``axes``, with ``eps`` inside the square root or ``outside``."""
    centred = x - x.mean(axes, keepdim=True)
    variance = _mean_square(centred, axes, correction)
    return centred / (variance.sqrt() + eps if outside else (variance + eps).sqrt())


def _mean_square(x: Tensor, axes: tuple[int, ...] = (-1,), correction: int = 0) -> Tensor:
    return x.square().sum(axes, keepdim=True) / (math.prod(x.shape[axis] for axis in axes) - correction)


def _norm_not_centred(x: Tensor, eps: float) -> Tensor:
    return x / (_mean_square(x) + eps).sqrt()


def _norm_not_scaled(x: Tensor, eps: float) -> Tensor:
    return x - x.mean(-1, keepdim=True)


def _norm_divides_by_variance(x: Tensor, eps: float) -> Tensor:
    centred = x - x.mean(-1, keepdim=True)
    return centred / (_mean_square(centred) + eps)


NORMS: dict[str, Callable[..., Tensor]] = {
    "over_time": partial(normalise, axes=(-2,)),
    "over_batch": partial(normalise, axes=(0,)),
    "over_both": partial(normalise, axes=(-2, -1)),
    "not_centred": _norm_not_centred,
    "not_scaled": _norm_not_scaled,
    "divides_by_variance": _norm_divides_by_variance,
    "unbiased": partial(normalise, correction=1),
    "unbiased_eps_outside": partial(normalise, correction=1, outside=True),
    "eps_outside": partial(normalise, outside=True),
    "eps_1": lambda x, eps: normalise(x, 1.0),
    "eps_1e-3": lambda x, eps: normalise(x, 1e-3),
    "eps_1e-6": lambda x, eps: normalise(x, 1e-6),
    "eps_1e-12": lambda x, eps: normalise(x, 1e-12),
}

# --- attention --------------------------------------------------------------------------------------------------------

SCALES: dict[str, Callable[[int, int, int, int], float]] = {
    "sqrt_d": lambda d, H, d_head, T: 1 / math.sqrt(d),
    "d_head": lambda d, H, d_head, T: 1 / d_head,
    "d": lambda d, H, d_head, T: 1 / d,
    "inverted": lambda d, H, d_head, T: math.sqrt(d_head),
    "times_d_head": lambda d, H, d_head, T: d_head,
    "sqrt_T": lambda d, H, d_head, T: 1 / math.sqrt(T),
    "sqrt_H": lambda d, H, d_head, T: 1 / math.sqrt(H),
    "missing": lambda d, H, d_head, T: 1.0,
    "after_softmax": lambda d, H, d_head, T: 1.0,
    "negated": lambda d, H, d_head, T: -1 / math.sqrt(d_head),
}
MASKS: dict[str, Callable[[Tensor, Tensor], Tensor]] = {  # query t must not attend to key s
    "anti_causal": lambda t, s: s < t,
    "inverted": lambda t, s: s <= t,
    "off_by_one": lambda t, s: s > t + 1,
    "excludes_self": lambda t, s: s >= t,
    "diagonal_only": lambda t, s: s != t,
}
FILLS = {"zero": 0.0, "fill_-1": -1.0, "fill_-5": -5.0, "fill_-10": -10.0, "positive": 1e9}
MASKS_WHOLE_ROW = ("inverted", "excludes_self")  # students see a result only with a finite fill
SOFTMAX_AXES = {"over_queries": -2, "over_heads": 1, "over_batch": 0}


def split_without_transpose(heads: Tensor) -> Tensor:
    """Return (B, H, T, d_head) as a direct view of (B, T, H d_head) gives it."""
    return heads.transpose(1, 2).reshape(heads.shape)


def attention_weights(q: Tensor, k: Tensor, scale: float, future: Tensor, steps: Steps, d: int) -> Tensor:
    """Compute attention weights (B, H, T, T) with variants of scale, mask and softmax.

    Args:
        q: Queries (B, H, T, d_head).
        k: Keys (B, H, T, d_head).
        scale: The correct factor of the scores.
        future: The correct mask (T, T).
        steps: The variants.
        d: The width of the model.
    """
    H, T, d_head = q.shape[1:]
    if steps.get("scale") in SCALES:
        scale = SCALES[steps["scale"]](d, H, d_head, T)
    scores = q @ k.mT * scale  # (B, H, T, T)
    mask, softmax = steps.get("mask", ""), steps.get("softmax", "")
    if mask in MASKS:
        future = MASKS[mask](torch.arange(T)[:, None], torch.arange(T)[None, :])
    if softmax == "missing":
        return scores.masked_fill(future, 0.0)
    axis = SOFTMAX_AXES.get(softmax, -1)
    # Other softmax axes have fully masked slices; students see a result only with a finite fill.
    fill = -math.inf if axis in (-1, -2) and mask not in MASKS_WHOLE_ROW else -1e9
    if mask == "swamped":
        scores = torch.zeros_like(scores)
    if mask not in ("missing", "after_softmax"):
        scores = scores.masked_fill(future, FILLS.get(mask, fill))
    weights = torch.softmax(scores, axis)
    if softmax == "twice":
        weights = torch.softmax(weights, axis)
    if steps.get("scale") == "after_softmax":
        weights = weights / math.sqrt(d_head)
    return weights.masked_fill(future, 0.0) if mask == "after_softmax" else weights


def input_as_values(x: Tensor, o: Tensor, steps: Steps) -> Tensor:
    """Return the input (B, T, d) as values: each head gets a slice of x, or all of it."""
    H, width, _ = o.shape
    values = x.reshape(*x.shape[:2], -1, width).expand(-1, -1, H, -1).transpose(1, 2)  # (B, H, T, width)
    return split_without_transpose(values) if "split" in steps else values


def project_heads(x: Tensor, merged: Tensor, proj: Function, gelu: Function, steps: Steps) -> Tensor:
    """Compute the end of attention (B, T, H d_head) -> (B, T, d) with variants of the output projection."""
    variant = steps.get("project", "")
    if variant == "unused":
        return merged
    out = proj(merged)
    if variant == "twice":
        out = proj(out)
    if steps.get("add") == "input":
        return x + out
    return {"relu": torch.relu, "gelu": gelu}[variant](out) if variant in ("relu", "gelu") else out


# --- MLP --------------------------------------------------------------------------------------------------------------

ACTIVATIONS: dict[str, Function] = {
    "gelu_tanh": lambda x: 0.5 * x * (1 + torch.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3))),
    "gelu_sigmoid": lambda x: x * torch.sigmoid(1.702 * x),
    "relu": torch.relu,
    "leaky_relu": lambda x: torch.where(x > 0, x, 0.01 * x),
    "relu_squared": lambda x: torch.relu(x).square(),
    "elu": lambda x: torch.where(x > 0, x, torch.expm1(x)),
    "silu": lambda x: x * torch.sigmoid(x),
    "mish": lambda x: x * torch.tanh(torch.nn.functional.softplus(x)),
    "softplus": torch.nn.functional.softplus,
    "softmax": lambda x: torch.softmax(x, -1),
    "tanh": torch.tanh,
    "sigmoid": torch.sigmoid,
    "linear": lambda x: x,
}


def mlp(x: Tensor, up: Function, gelu: Function, down: Function, steps: Steps) -> Tensor:
    """Compute the MLP (..., d) -> (..., d) with variants of the activation and of the result."""
    variant = steps.get("activation", "")
    if variant == "first":
        out = down(up(gelu(x)))
    elif variant == "last":
        out = gelu(down(up(x)))
    elif variant == "twice":
        out = gelu(down(gelu(up(x))))
    elif variant == "doubled":
        out = down(gelu(gelu(up(x))))
    else:
        out = down(ACTIVATIONS.get(variant, gelu)(up(x)))
    return x + out if steps.get("add") == "input" else out


# --- block ------------------------------------------------------------------------------------------------------------

Block = Callable[[Tensor, Function, Function, Function, Function], Tensor]  # x, norm1, attn, norm2, mlp


def _sublayers(
    first: Callable[[Tensor, Function, Function], Tensor], second: Callable[[Tensor, Function, Function], Tensor]
) -> Block:
    """Return a block of two sublayers, each a function of its input, its norm and its layer."""
    return lambda x, norm1, attn, norm2, mlp: second(first(x, norm1, attn), norm2, mlp)


def _right(x: Tensor, norm: Function, layer: Function) -> Tensor:
    return x + layer(norm(x))


def _post_norm(x: Tensor, norm: Function, layer: Function) -> Tensor:
    return norm(x + layer(x))


def _norm_after_sublayer(x: Tensor, norm: Function, layer: Function) -> Tensor:
    return x + norm(layer(x))


def _residual_from_norm(x: Tensor, norm: Function, layer: Function) -> Tensor:
    normed = norm(x)
    return normed + layer(normed)


def _norm_missing(x: Tensor, norm: Function, layer: Function) -> Tensor:
    return x + layer(x)


def _no_residual(x: Tensor, norm: Function, layer: Function) -> Tensor:
    return layer(norm(x))


def _residual_doubled(x: Tensor, norm: Function, layer: Function) -> Tensor:
    return 2 * x + layer(norm(x))


def _subtracted(x: Tensor, norm: Function, layer: Function) -> Tensor:
    return x - layer(norm(x))


def _unused(x: Tensor, norm: Function, layer: Function) -> Tensor:
    return x


BLOCKS: dict[str, Block] = {
    "post_norm": _sublayers(_post_norm, _post_norm),
    "norm_after_sublayer": _sublayers(_norm_after_sublayer, _norm_after_sublayer),
    "residual_from_norm": _sublayers(_residual_from_norm, _residual_from_norm),
    "first_residual_from_norm": _sublayers(_residual_from_norm, _right),
    "second_residual_from_norm": _sublayers(_right, _residual_from_norm),
    "no_attention": _sublayers(_unused, _right),
    "no_mlp": _sublayers(_right, _unused),
    "no_norms": _sublayers(_norm_missing, _norm_missing),
    "first_norm_missing": _sublayers(_norm_missing, _right),
    "second_norm_missing": _sublayers(_right, _norm_missing),
    "no_residual": _sublayers(_no_residual, _no_residual),
    "no_first_residual": _sublayers(_no_residual, _right),
    "no_second_residual": _sublayers(_right, _no_residual),
    "first_residual_doubled": _sublayers(_residual_doubled, _right),
    "second_residual_doubled": _sublayers(_right, _residual_doubled),
    "attention_subtracted": _sublayers(_subtracted, _right),
    "mlp_subtracted": _sublayers(_right, _subtracted),
    "both_subtracted": _sublayers(_subtracted, _subtracted),
    "parallel": lambda x, norm1, attn, norm2, mlp: x + attn(norm1(x)) + mlp(norm2(x)),
    "mlp_first": lambda x, norm1, attn, norm2, mlp: _right(_right(x, norm2, mlp), norm1, attn),
    "attention_twice": lambda x, norm1, attn, norm2, mlp: _right(_right(x, norm1, attn), norm2, attn),
    "mlp_twice": lambda x, norm1, attn, norm2, mlp: _right(_right(x, norm1, mlp), norm2, mlp),
    "first_norm_twice": lambda x, norm1, attn, norm2, mlp: _right(_right(x, norm1, attn), norm1, mlp),
    "mlp_added_to_input": lambda x, norm1, attn, norm2, mlp: x + mlp(norm2(_right(x, norm1, attn))),
}

# --- model ------------------------------------------------------------------------------------------------------------

EMBEDDINGS: dict[str, Function] = {
    "scaled": lambda tok: tok * math.sqrt(tok.shape[-1]),
    "unused": lambda tok: tok * 0,
}
POSITIONS: dict[str, Callable[[Tensor, Tensor, Tensor], Tensor]] = {  # tok (B, T, d), pos (T_max, d), idx (B, T)
    "unused": lambda tok, pos, idx: tok,
    "multiplied": lambda tok, pos, idx: tok * pos[: idx.shape[1]],
    "subtracted": lambda tok, pos, idx: tok - pos[: idx.shape[1]],
    "reversed": lambda tok, pos, idx: tok + pos[: idx.shape[1]].flip(0),
    "start_at_one": lambda tok, pos, idx: tok + pos[1 : idx.shape[1] + 1],
    "last_T": lambda tok, pos, idx: tok + pos[-idx.shape[1] :],
    "all_first": lambda tok, pos, idx: tok + pos[0],
    "all_last": lambda tok, pos, idx: tok + pos[idx.shape[1] - 1],
    "by_token": lambda tok, pos, idx: tok + pos[idx.clamp(max=len(pos) - 1)],
    "by_batch_row": lambda tok, pos, idx: tok + pos[: idx.shape[0], None],
}
LOGITS: dict[str, Callable[[Tensor, Tensor], Tensor]] = {  # logits (B, T, V), x (B, T, d)
    "probabilities": lambda logits, x: torch.softmax(logits, -1),
    "log_probabilities": lambda logits, x: torch.log_softmax(logits, -1),
    "scaled": lambda logits, x: logits / math.sqrt(x.shape[-1]),
}


def run_blocks(x: Tensor, blocks: Sequence[Function], norm: Function, steps: Steps) -> Tensor:
    """Run the blocks and the final LayerNorm (B, T, d) -> (B, T, d), with variants of both."""
    variant, final = steps.get("blocks", ""), steps.get("final_norm", "")
    if final in ("first", "both"):
        x = norm(x)
    embedded = x
    for run_block in {"last_unused": blocks[:-1], "unused": []}.get(variant, blocks):
        if variant == "extra_residual":
            x = x + run_block(x)
        else:
            x = run_block(embedded if variant == "all_get_embeddings" else x)
        if final == "in_the_loop":
            x = norm(x)
    return norm(x) if final in ("", "both") else x
