"""Whether counted parameters are more than a claim: each has its place in the formula, or the outputs follow it."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Iterable, Sequence

import numpy as np

from autograder.assignment import Dims
from autograder.checks import ladder
from autograder.oracle import align
from autograder.outcome import Failed
from autograder.sandbox.errors import StudentError
from autograder.sandbox.student import Module, Parameter, Student

SHORT = 4  # tokens that show most weights; the tables of tokens and positions need more
LOOKED_AT = 64  # tensors, the largest: what fills up a count is large, or makes many
TRIED = 8  # readings: where a size is that of two things, the first ones may take one for the other


def bound(student: Student, model: Module, dims: Dims, rng: np.random.Generator) -> None:
    """Raise Failed where parameters are counted that the model does not compute with.

    Where each class holds exactly what its formula needs, the count is right, even if something is forgotten in
    forward: that costs in the class. Otherwise every tensor has to move the logits, and these have to depend on nothing
    but the weights.
    """
    try:
        if laid_out(student, model, dims):
            return
    except StudentError:
        pass  # without the classes, the model shows it as a whole
    idle = without_effect(student, dims, rng)
    if idle:
        count = sum(p.size for p in idle)
        names = ", ".join(p.name for p in idle[:4])
        raise Failed(
            f"Of the {model.numel:,} parameters at {dims}, {count:,} take no part in what the model computes: {names}.",
            "Is everything that the constructor makes used in forward?",
        )


def laid_out(student: Student, model: Module, dims: Dims) -> bool:
    """Whether the shapes in each class, and in GPT around them, are those of the formula, and none is left over."""
    d, sizes = dims.d, {"d": dims.d, "H": dims.H, "T_max": dims.T_max}
    attention = shapes(student.build("MultiHeadAttention", sizes).parameters)
    mlp = shapes(student.build("MLP", {"d": d}).parameters)
    block = shapes(student.build("Block", sizes).parameters)
    around = without(block, attention, mlp)
    outside = without(shapes(model.parameters), *[block] * dims.L)
    if around is None or outside is None:
        return False
    norms = (reading for reading, _ in align.norms(align.positions(around), d, ["ln1", "ln2"]))
    rest = (reading for reading, _ in align.model(outside, dims.V, dims.T_max, d))
    return (
        filled(attention, align.attention(attention, d, dims.H))
        and filled(mlp, (reading for reading in align.mlp(mlp, d) if reading["up"].shape == (d, 4 * d)))
        and filled(around, norms)
        and filled(outside, rest)
    )


def shapes(parameters: Sequence[Parameter]) -> list[tuple[str, tuple[int, ...]]]:
    """Names and shapes, as ``align`` takes them."""
    return [(p.name, p.shape) for p in parameters]


def without(
    whole: list[tuple[str, tuple[int, ...]]], *parts: list[tuple[str, tuple[int, ...]]]
) -> list[tuple[str, tuple[int, ...]]] | None:
    """What is left of ``whole`` when a tensor is taken away for each shape in ``parts``; None where one is missing."""
    taken = Counter(shape for part in parts for _, shape in part)
    rest = []
    for name, shape in whole:
        if taken[shape]:
            taken[shape] -= 1
        else:
            rest.append((name, shape))
    return None if taken.total() else rest


def filled(tensors: list[tuple[str, tuple[int, ...]]], readings: Iterable[align.Reading]) -> bool:
    """Whether one of the first readings gives every entry of ``tensors`` a place in the formula."""
    total = sum(math.prod(shape) for _, shape in tensors)
    try:
        return any(_places(reading) == total for reading in itertools.islice(readings, TRIED))
    except ValueError:
        return False  # shapes that do not go together


def _places(reading: align.Reading) -> int:
    places = np.concatenate([place.reshape(-1) for place in reading.values()])
    return int(np.count_nonzero(np.bincount(places[places >= 0])))


def without_effect(student: Student, dims: Dims, rng: np.random.Generator) -> list[Parameter]:
    """The larger parameters of GPT, at ``dims``, of which a random slice can change without moving any logit.

    Raises Failed where another process gives other logits for the same weights: then something else was remembered.
    """
    few = rng.integers(0, dims.V, (1, SHORT))
    rows = -(-dims.V // dims.T_max)
    every = np.resize(np.arange(dims.V), (rows, dims.T_max))  # each token and each position
    idle = []
    with student.fresh() as fresh:
        model = fresh.build("GPT", dims.arguments())
        weights = ladder.random_weights(model, rng)
        weights |= {p.name: np.ones(p.shape, np.float32) for p in model.parameters if p.name not in weights}
        model.push(weights)
        before = _logits(model, few, dims)
        for p in sorted(model.parameters, key=lambda p: (-p.size, rng.random()))[:LOOKED_AT]:
            changed = weights[p.name].copy()
            changed[rng.integers(len(changed)) if p.shape else ()] *= -1
            model.push({p.name: changed})
            after = _logits(model, few, dims)
            if np.array_equal(after, before):
                whole = _logits(model, every, dims)
                model.push({p.name: weights[p.name]})
                if np.array_equal(_logits(model, every, dims), whole):
                    idle.append(p)
                model.push({p.name: changed})
            weights[p.name], before = changed, after
    with student.fresh() as fresh:
        model = fresh.build("GPT", dims.arguments())
        model.push(weights)
        gap = float(np.abs(_logits(model, few, dims) - before).max())
    if not gap <= 1e-4 * max(1.0, float(np.abs(before).max())):
        raise Failed(
            f"For the same weights and tokens, GPT gives other logits in another process, by {gap:.2g}.",
            "Does anything but the parameters and the tokens decide what forward returns?",
        )
    return idle


def _logits(model: Module, idx: np.ndarray, dims: Dims) -> np.ndarray:
    return ladder.logits(model(idx), (*idx.shape, dims.V))
