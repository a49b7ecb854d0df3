"""Tests of a model's claims (parameter count, loss, shapes): they count only if its logits bear them out."""

from __future__ import annotations

import contextlib
import itertools
import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from autograder.assignment.measure import outputs
from autograder.assignment.mistakes import Mistake
from autograder.assignment.oracle import layouts
from autograder.assignment.sizes import Dims
from autograder.grading.verdict import Failed
from autograder.sandbox.remote.errors import StudentError
from autograder.sandbox.remote.proxy import ModuleProxy
from autograder.sandbox.remote.replies import Parameter, is_matrix
from autograder.sandbox.remote.student_code import StudentCode

SHORT = (2, 7)  # enough tokens for most weights; the embedding tables need more
DRAWN = 32  # forward passes per mean
FOLLOWS = 4.0  # squared change over its variance by chance; 1 on average if the weights have no effect
SURE = 10.0  # standard errors that a change must exceed
PLAIN = "Is a table or matrix a plain tensor rather than an nn.Parameter?"
ROUNDING = 1e-5  # of the largest logit
ROUNDED_WEIGHTS = 2.0**-8  # relative, as in bfloat16
LOOKED_AT = 64  # largest tensors: padding of a count is large, or in many tensors
TRIED = 8  # layouts: if two sizes are equal, the first layouts may mistake one for the other


@dataclass(frozen=True)
class Claims:
    """Evidence against a model's claims; "" if there is none, or if the model does not run."""

    about_logits: str = ""
    about_parameters: str = ""
    unused: str = ""  # set if most parameters change no logit
    hint: str = "Is every parameter used, from the embeddings through all blocks to the logits?"
    causes: tuple[Mistake, ...] = ()
    steady: bool = False  # whether two passes gave the same logits


def measure_claims(student: StudentCode, n: Dims, rng: np.random.Generator) -> Claims:
    """Set the weights of a small GPT, here and in a replica, and test whether its logits depend on them alone."""
    idx = rng.integers(0, n.V, SHORT)
    try:
        model = student.shared("GPT", n.arguments())
        weights = _draw_weights(model, rng)
        before, variance = _mean_logits(model, idx, n)
        model.push(weights)
        kept: dict[str, np.ndarray] = {}  # values that can't be read weren't kept
        with contextlib.suppress(StudentError):
            kept = model.pull()  # before forward, which may change weights in place
        after, more = _mean_logits(model, idx, n)
        steady = not variance.any() and not more.any()
        change, by_chance = ((after - before) ** 2).mean(-1), (variance + more).mean(-1)
        # If forward is random, the effect at one position can drown in the noise.
        follows = (change > 0).all() if steady else np.mean(change / np.maximum(by_chance, 1e-30)) > FOLLOWS
        if kept and not follows:
            message = "When all parameters of a small GPT change, the logits do not."
            return Claims(message, message, steady=steady)
        unset = [
            name
            for name, value in weights.items()
            if name not in kept or not np.allclose(value, kept[name], ROUNDED_WEIGHTS, 0)
        ]
        if unset:
            message = (
                f"{len(unset)} of the {len(weights)} tensors of a small GPT don't keep the values that are copied into "
                f"them: {', '.join(unset[:4])}."
            )
            return Claims(message, message, steady=steady)
        replica = student.replica.build("GPT", n.arguments(), seed=1)
        replica.push(weights)
        again = _logits(replica, idx, n) if steady else _mean_logits(replica, idx, n)[0]
        gap = float(np.abs(again - after).max())
        noise = SURE * math.sqrt(max(variance.max(), more.max()))
        if not gap <= noise + ROUNDING * max(1.0, float(np.abs(after).max())):
            message = (
                f"Two GPTs built with different seeds but given the same parameters have logits that differ by "
                f"{gap:.2g}; these should be equal."
            )
            return Claims(about_parameters=message, hint=PLAIN, steady=steady)
        dead = sum(p.size for p in unused_parameters(model, n, rng, model.numel // 2 + 1))
    except (Failed, StudentError):
        return Claims()  # the checks report the exception
    message = f"Of the {model.numel:,} parameters of a small GPT, {dead:,} don't affect any logit."
    return Claims(unused=message if dead else "", steady=steady)


def _mean_logits(model: ModuleProxy, idx: np.ndarray, n: Dims) -> tuple[np.ndarray, np.ndarray]:
    """Return the mean logits and their variances: forward may be random, as with dropout that is always on."""
    first, again = (_logits(model, idx, n, seed) for seed in (0, 1))
    if np.array_equal(first, again):
        return first, np.zeros(first.shape)
    drawn = np.stack([_logits(model, idx, n, seed) for seed in range(2, 2 + DRAWN)]).astype(np.float64)
    return drawn.mean(0), drawn.var(0, ddof=1) / DRAWN


def require_used_parameters(student: StudentCode, model: ModuleProxy, dims: Dims, rng: np.random.Generator) -> None:
    """Raise Failed if the count includes parameters that the model does not use.

    If each class has exactly the tensors its formula needs, the count is right, even if forward forgets one: the
    class's own check deducts that. Otherwise every tensor has to change the logits.
    """
    try:
        if has_formula_layout(student, model, dims):
            return
    except StudentError:
        pass  # without the classes, test the full model
    with student.fresh_process() as fresh:
        built = fresh.build("GPT", dims.arguments())
        _logits(built, rng.integers(0, dims.V, SHORT), dims)  # raises if forward does: then no parameter is to blame
        unused = unused_parameters(built, dims, rng)
    if unused:
        count = sum(p.size for p in unused)
        names = ", ".join(p.name for p in unused[:4])
        raise Failed(
            f"Of the {model.numel:,} parameters at {dims}, {count:,} don't affect any logit: {names}.",
            "Does forward use everything that __init__ creates?",
        )


def has_formula_layout(student: StudentCode, model: ModuleProxy, dims: Dims) -> bool:
    """Return whether the shapes in each class, and in GPT around them, are exactly those of the formula."""
    d, sizes = dims.d, {"d": dims.d, "H": dims.H, "T_max": dims.T_max}
    attention = shapes(student.shared("MultiHeadAttention", sizes).parameters)
    mlp = shapes(student.shared("MLP", {"d": d}).parameters)
    mlp_weights = sum(math.prod(shape) for _, shape in mlp if is_matrix(shape))
    block = shapes(student.shared("Block", sizes).parameters)
    around = subtract_shapes(block, attention, mlp)
    outside = subtract_shapes(shapes(model.parameters), *[block] * dims.L)
    if around is None or outside is None:
        return False
    norms = (layout for layout, _ in layouts.norm_layouts(layouts.stack_tensors(around), d, ["ln1", "ln2"]))
    rest = (layout for layout, _ in layouts.model_layouts(outside, dims.V, dims.T_max, d))
    return (
        is_filled(attention, layouts.attention_layouts(attention, d, dims.H), dims)
        and mlp_weights == 8 * d * d
        and is_filled(mlp, layouts.mlp_layouts(mlp, d), dims)
        and is_filled(around, norms, dims)
        and is_filled(outside, rest, dims)
    )


def shapes(parameters: Sequence[Parameter]) -> list[tuple[str, tuple[int, ...]]]:
    """Return names and shapes as ``layouts`` expects them."""
    return [(p.name, p.shape) for p in parameters]


def subtract_shapes(
    whole: list[tuple[str, tuple[int, ...]]], *parts: list[tuple[str, tuple[int, ...]]]
) -> list[tuple[str, tuple[int, ...]]] | None:
    """Remove one tensor from ``whole`` for each shape in ``parts``; None if one is missing."""
    taken = Counter(shape for part in parts for _, shape in part)
    rest = []
    for name, shape in whole:
        if taken[shape]:
            taken[shape] -= 1
        else:
            rest.append((name, shape))
    return None if taken.total() else rest


def is_filled(tensors: list[tuple[str, tuple[int, ...]]], candidates: Iterable[layouts.Layout], n: Dims) -> bool:
    """Return whether one of the first layouts uses every entry of ``tensors`` in the formula."""
    total = sum(math.prod(shape) for _, shape in tensors)
    first = itertools.islice(candidates, TRIED)
    built = (layouts.build_layout(layout, tensors, n.arguments()) for layout in first)
    return any(_count_used_entries(entries) == total for entries in built if entries)


def _count_used_entries(entries: Mapping[str, np.ndarray]) -> int:
    places = np.concatenate([place.reshape(-1) for place in entries.values()])
    return int(np.count_nonzero(np.bincount(places[places >= 0])))


def unused_parameters(model: ModuleProxy, dims: Dims, rng: np.random.Generator, most: int = 0) -> list[Parameter]:
    """Return the larger parameters of GPT at ``dims`` of which a random slice can change without changing any logit.

    Return none once parameters that do change logits have ``most`` entries. A parameter that can't be set counts as
    changing nothing.
    """
    few = rng.integers(0, dims.V, SHORT)  # this shape only: a wrong model may reject others
    every = np.resize(np.arange(dims.V), (-(-dims.V // dims.T_max), dims.T_max))  # each token and each position
    weights = _draw_weights(model, rng)
    model.push(weights)
    found, moving, logits = [], 0, _logits_with(model, {}, few, dims)
    candidates = [p for p in model.parameters if p.name in weights]
    for p in sorted(candidates, key=lambda p: (-p.size, rng.random()))[:LOOKED_AT]:
        changed = weights[p.name].copy()
        # Not by one factor: a slice may hold queries and keys, whose product keeps its value if both change sign.
        part = rng.integers(len(changed)) if p.shape else ()
        changed[part] *= rng.uniform(-1.5, -0.5, changed[part].shape).astype(np.float32)
        before, logits = logits, _logits_with(model, {p.name: changed}, few, dims)
        if _differ(before, logits) or _differ(
            *(_logits_with(model, {p.name: value}, every, dims) for value in (weights[p.name], changed))
        ):
            moving += p.size
        else:
            found.append(p)
        if 0 < most <= moving:
            return []
    return found


def _logits_with(
    model: ModuleProxy, values: Mapping[str, np.ndarray], idx: np.ndarray, dims: Dims
) -> np.ndarray | None:
    """Set ``values`` and return the logits; None if forward fails."""
    try:
        if values:
            model.push(values)
        return _logits(model, idx, dims)
    except (Failed, StudentError):
        return None


def _differ(before: np.ndarray | None, after: np.ndarray | None) -> bool:
    return before is not None and after is not None and not np.array_equal(before, after)


def _draw_weights(model: ModuleProxy, rng: np.random.Generator) -> dict[str, np.ndarray]:
    """Return values for all weights, including those that are not trained."""
    drawn = outputs.random_weights(model, rng)
    kept = outputs.mask_parameters(model)
    return {p.name: np.ones(p.shape, np.float32) for p in model.parameters if p.name not in kept} | drawn


def _logits(model: ModuleProxy, idx: np.ndarray, dims: Dims, seed: int = 0) -> np.ndarray:
    return outputs.require_logits(model(idx, seed=seed), (*idx.shape, dims.V))
