"""What a model says of itself (how many parameters, which loss, which shapes) counts only if its logits bear it out."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from autograder.assignment import Dims
from autograder.checks import ladder
from autograder.oracle import align
from autograder.outcome import Failed
from autograder.sandbox.answers import Parameter
from autograder.sandbox.errors import StudentError
from autograder.sandbox.module import Module
from autograder.sandbox.student import Student

SHORT = (2, 7)  # tokens that show most weights; the tables of tokens and positions need more
DRAWN = 32  # forward passes that a mean is taken over
FOLLOWS = 4.0  # times the variance of such a mean; what has no effect moves it by once as much
SURE = 10.0  # standard errors of such a mean
PLAIN = "Does it compute with a table or a matrix that is a plain tensor, and so is no parameter?"
ROUNDING = 1e-5  # of the largest logit
LOOKED_AT = 64  # tensors, the largest: what fills up a count is large, or makes many
TRIED = 8  # readings: where a size is that of two things, the first ones may take one for the other


@dataclass(frozen=True)
class Claims:
    """What speaks against a model's account of itself; "" where nothing does, or where it does not run at all."""

    about_logits: str = ""
    about_parameters: str = ""
    idle: str = ""  # that most parameters move no logit
    hint: str = "Is each of them used, from the embeddings through all blocks to the logits?"
    steady: bool = False  # whether the logits have come out the same twice


def measure(student: Student, n: Dims, rng: np.random.Generator) -> Claims:
    """Set the weights of a small GPT, here and in another process, and see whether its logits follow these alone."""
    idx = rng.integers(0, n.V, SHORT)
    try:
        model = student.shared("GPT", n.arguments())
        weights = _weights(model, rng)
        before, variance = _mean(model, idx, n)
        model.push(weights)
        after, more = _mean(model, idx, n)
        steady = not variance.any() and not more.any()
        moved, by_chance = ((after - before) ** 2).mean(-1), (variance + more).mean(-1)
        # Where forward draws by itself, what one position does can drown in that.
        follows = (moved > 0).all() if steady else np.mean(moved / np.maximum(by_chance, 1e-30)) > FOLLOWS
        if not follows:
            said = "When all parameters of a small GPT change, the logits do not."
            return Claims(said, said, steady=steady)
        kept = model.pull()
        unset = sum(name not in kept or not np.array_equal(value, kept[name]) for name, value in weights.items())
        if unset:
            said = f"{unset} parameters of a small GPT do not hold what is written into them."
            return Claims(said, said, steady=steady)
        twin = student.witness.build("GPT", n.arguments(), seed=1)
        twin.push(weights)
        again = _logits(twin, idx, n) if steady else _mean(twin, idx, n)[0]
        gap = float(np.abs(again - after).max())
        noise = SURE * math.sqrt(max(variance.max(), more.max()))
        if not gap <= noise + ROUNDING * max(1.0, float(np.abs(after).max())):
            said = f"With the same values in all parameters, a GPT from another seed differs by {gap:.2g}."
            return Claims(about_parameters=said, hint=PLAIN, steady=steady)
        dead = sum(p.size for p in idle(model, n, rng, model.numel // 2 + 1))
    except (Failed, StudentError):
        return Claims()  # the checks themselves say what is wrong
    said = f"Of the {model.numel:,} parameters of a small GPT, {dead:,} can be changed and no logit moves."
    return Claims(idle=said if dead else "", steady=steady)


def _mean(model: Module, idx: np.ndarray, n: Dims) -> tuple[np.ndarray, np.ndarray]:
    """The logits, and the variance of each: forward may draw by itself, as with dropout that is always on."""
    first, again = (_logits(model, idx, n, seed) for seed in (0, 1))
    if np.array_equal(first, again):
        return first, np.zeros(first.shape)
    drawn = np.stack([_logits(model, idx, n, seed) for seed in range(2, 2 + DRAWN)]).astype(np.float64)
    return drawn.mean(0), drawn.var(0, ddof=1) / DRAWN


def backed(student: Student, model: Module, dims: Dims, rng: np.random.Generator) -> None:
    """Raise Failed where parameters are counted that the model does not compute with.

    Where each class holds exactly what its formula needs, the count is right, even if something is forgotten in
    forward: that costs in the class. Otherwise every tensor has to move the logits.
    """
    try:
        if laid_out(student, model, dims):
            return
    except StudentError:
        pass  # without the classes, the model shows it as a whole
    with student.fresh() as fresh:
        unused = idle(fresh.build("GPT", dims.arguments()), dims, rng)
    if unused:
        count = sum(p.size for p in unused)
        names = ", ".join(p.name for p in unused[:4])
        raise Failed(
            f"Of the {model.numel:,} parameters at {dims}, {count:,} take no part in what the model computes: {names}.",
            "Is everything that the constructor makes used in forward?",
        )


def laid_out(student: Student, model: Module, dims: Dims) -> bool:
    """Whether the shapes in each class, and in GPT around them, are those of the formula, and none is left over."""
    d, sizes = dims.d, {"d": dims.d, "H": dims.H, "T_max": dims.T_max}
    attention = shapes(student.shared("MultiHeadAttention", sizes).parameters)
    mlp = shapes(student.shared("MLP", {"d": d}).parameters)
    block = shapes(student.shared("Block", sizes).parameters)
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


def idle(model: Module, dims: Dims, rng: np.random.Generator, most: int = 0) -> list[Parameter]:
    """The larger parameters of GPT, at ``dims``, of which a random slice can change without moving any logit.

    None where others, that do move logits, hold ``most`` entries. One that cannot be set moves nothing.
    """
    few = rng.integers(0, dims.V, SHORT)  # not another shape, which a wrong model may refuse
    every = np.resize(np.arange(dims.V), (-(-dims.V // dims.T_max), dims.T_max))  # each token and each position
    weights = _weights(model, rng)
    model.push(weights)
    found, moving, seen = [], 0, _with(model, {}, few, dims)
    for p in sorted(model.parameters, key=lambda p: (-p.size, rng.random()))[:LOOKED_AT]:
        changed = weights[p.name].copy()
        changed[rng.integers(len(changed)) if p.shape else ()] *= -1
        before, seen = seen, _with(model, {p.name: changed}, few, dims)
        if _differ(before, seen) or _differ(
            *(_with(model, {p.name: value}, every, dims) for value in (weights[p.name], changed))
        ):
            moving += p.size
        else:
            found.append(p)
        if 0 < most <= moving:
            return []
    return found


def _with(model: Module, values: Mapping[str, np.ndarray], idx: np.ndarray, dims: Dims) -> np.ndarray | None:
    """The logits once ``values`` are set; None where there are none."""
    try:
        if values:
            model.push(values)
        return _logits(model, idx, dims)
    except (Failed, StudentError):
        return None


def _differ(before: np.ndarray | None, after: np.ndarray | None) -> bool:
    return before is not None and after is not None and not np.array_equal(before, after)


def _weights(model: Module, rng: np.random.Generator) -> dict[str, np.ndarray]:
    """Values for all parameters, also for those that are not trained."""
    ladder.affordable(model)
    return {p.name: np.ones(p.shape, np.float32) for p in model.parameters} | ladder.random_weights(model, rng)


def _logits(model: Module, idx: np.ndarray, dims: Dims, seed: int = 0) -> np.ndarray:
    return ladder.logits(model(idx, seed=seed), (*idx.shape, dims.V))
