"""The loss before training: where it should lie, and how the writes into the residual stream are scaled."""

from __future__ import annotations

import math
from functools import partial
from importlib import resources

import numpy as np
import pytest

from autograder.assignment import Assignment, Dims
from autograder.checks import ladder
from autograder.outcome import Failed, Notes, Partial
from autograder.sandbox.student import Module, Student

pytestmark = [pytest.mark.needs("GPT"), pytest.mark.usefixtures("follows")]

BELOW, ABOVE = 0.024, 0.276  # the window around ln V: 4.15 to 4.45 for V=65
BATCH = 4  # rows of T_max tokens: with the mean over all targets, that is plenty
SEEDS = 3
LAYERS = (2, 8)  # between these the scaled projections shrink by half
FACTOR = 0.1  # relative; a standard deviation of 64 x 64 entries is known to 0.011
NEAR = 0.04


def test_window(student: Student, assignment: Assignment, rng: np.random.Generator, notes: Notes) -> None:
    n = assignment.course
    losses = []
    for seed in rng.integers(1 << 31, size=SEEDS):
        model = student.build("GPT", n.arguments(), seed=int(seed))
        idx = rng.integers(0, n.V, (BATCH, n.T_max))
        logits = ladder.logits(model(idx), (BATCH, n.T_max, n.V)).astype(np.float64)
        if (logits >= 0).all() and np.allclose(logits.sum(-1), 1, atol=1e-3):
            raise Failed(
                "At every position the logits are between 0 and 1 and sum to 1: they are probabilities.",
                "Is there a softmax at the end of forward? F.cross_entropy applies one itself.",
            )
        losses.append(float(uniform_loss(logits).mean()))
    loss, chance = float(np.median(losses)), math.log(n.V)
    low, high = round(chance - BELOW, 2), round(chance + ABOVE, 2)
    figures = {"random targets": loss, f"ln {n.V}": chance} | expected(n) | on_text(model, assignment)
    notes.show(losses={name: round(value, 4) for name, value in figures.items()})
    if not low <= loss <= high:
        raise Failed(
            f"The loss before training is {loss:.2f}; just above ln {n.V} = {chance:.3f} is right, at most {high}.",
            f"It is as if the entries of the unembedding had the standard deviation "
            f"{math.sqrt(2 * max(0, loss - chance) / n.d):.2f} (nn.Linear's have {1 / math.sqrt(3 * n.d):.2f}): "
            f"is the final LayerNorm applied, and what initialises the unembedding?",
        )
    notes.say(f"{loss:.2f} on random targets, {loss - chance:.2f} above ln {n.V} = {chance:.3f}.")


def test_residual_scaling(student: Student, assignment: Assignment, rng: np.random.Generator, notes: Notes) -> None:
    seed = int(rng.integers(1 << 31))
    sizes = partial(Dims, V=11, T_max=8, d=64, H=4)
    few, many = (sizes(L=L) for L in LAYERS)
    before, after = (spreads(student.build("GPT", n.arguments(), seed=seed)) for n in (few, many))
    moved = {entries: shrunk(values, after.get(entries, [])) for entries, values in before.items()}
    square = few.d**2
    inside = [pair for entries in (square, square // few.H) for pair in moved.get(entries, [])]
    outside = [pair for entries, pairs in moved.items() if entries not in (square, square // few.H) for pair in pairs]
    if not outside and len(moved.get(square, [])) > 1:  # an MLP of width d is as large as the projection
        outside = [inside.pop()]
    found = {"the output projection of the attention": inside, "the second Linear of the MLP": outside}
    notes.show(
        standard_deviations={name: [[round(x, 5) for x in pair] for pair in pairs] for name, pairs in found.items()}
    )
    unscaled = [name for name, pairs in found.items() if not pairs]
    if unscaled:
        hint = (
            "Does GPT scale the weights of both projections, in every block, by 1/sqrt(2L) after the blocks are built?"
        )
        raise (Partial if len(unscaled) == 1 else Failed)(
            f"From L={few.L} to L={many.L} the standard deviation of {' and of '.join(unscaled)} is not halved.", hint
        )
    if all(pair[0] for pair in inside + outside) and _by_l_alone(student, few, before, inside + outside, seed):
        raise Failed(
            f"At L={few.L} both projections are scaled by {1 / math.sqrt(few.L):.2f} = 1/sqrt(L).",
            f"Each block writes to the stream twice, so it takes 1/sqrt(2L) = {1 / math.sqrt(2 * few.L):.2f}.",
        )
    notes.say("Both projections of each block shrink with 1/sqrt(2L), so 2L writes keep the stream's variance.")


# --- shared -----------------------------------------------------------------------------------------------------------


def uniform_loss(logits: np.ndarray) -> np.ndarray:
    """(..., V) -> (...): the cross-entropy, averaged over all targets that a position could have."""
    peak = logits.max(-1, keepdims=True)
    return np.asarray(np.log(np.exp(logits - peak).sum(-1)) + peak[..., 0] - logits.mean(-1))


def expected(n: Dims) -> dict[str, float]:
    """ln V + d std^2 / 2, for the two usual initialisations of the unembedding."""
    chance = math.log(n.V)
    return {
        "expected with nn.Linear's own": chance + 1 / 6,
        "expected with GPT-2's std 0.02": chance + n.d * 0.02**2 / 2,
    }


def on_text(model: Module, assignment: Assignment) -> dict[str, float]:
    """The loss of the untrained model on English prose; nothing where the alphabet is not the course's."""
    n, alphabet = assignment.course, assignment.alphabet
    if len(alphabet) != n.V:
        return {}
    text = resources.files("autograder").joinpath("prose.txt").read_text("utf-8")
    tokens = np.array([alphabet.index(c) for c in text[: BATCH * n.T_max + 1]])
    idx, targets = tokens[:-1].reshape(BATCH, n.T_max), tokens[1:].reshape(BATCH, n.T_max)
    logits = ladder.logits(model(idx), (BATCH, n.T_max, n.V)).astype(np.float64)
    given = np.take_along_axis(logits, targets[..., None], -1)[..., 0]
    return {"English text": float((uniform_loss(logits) + logits.mean(-1) - given).mean())}


def spreads(model: Module) -> dict[int, list[float]]:
    """Standard deviations of the model's matrices in ascending order, by their number of entries."""
    ladder.affordable(model)
    found: dict[int, list[float]] = {}
    for values in model.pull().values():
        if values.ndim >= 2:
            # Only zeros count as a spread of zero: those alone are scaled at any L.
            found.setdefault(values.size, []).append(float(values.std()) or float(np.abs(values).max(initial=0)))
    return {size: sorted(values) for size, values in found.items()}


def shrunk(before: list[float], after: list[float]) -> list[tuple[float, float]]:
    """The kinds of matrices, one in each block, whose standard deviation halves between LAYERS; before and after.

    Neither names nor order are known: what is the same for both numbers of blocks is set aside first. Matrices that
    start at zero are scaled at any L.
    """
    few, many = LAYERS
    kinds = (len(after) - len(before)) // (many - few)  # in each block; also where there is a block too many
    if kinds < 1 or len(before) % kinds or len(after) % kinds:
        return []
    first, last = _means(before, kinds), _means(after, kinds)
    pairs = [(x, x) for x in first if x == 0 and 0 in last]
    for x in list(first):
        same = next((y for y in last if math.isclose(x, y, rel_tol=FACTOR)), None)
        if same is not None:
            first.remove(x)
            last.remove(same)
    ratio = math.sqrt(few / many)
    return pairs + [(x, y) for x, y in zip(first, last, strict=False) if math.isclose(y, x * ratio, rel_tol=FACTOR)]


def _means(values: list[float], kinds: int) -> list[float]:
    """The means of ``kinds`` equal groups of consecutive values."""
    size = len(values) // kinds
    return [float(np.mean(values[i : i + size])) for i in range(0, len(values), size)]


def _by_l_alone(
    student: Student, n: Dims, model: dict[int, list[float]], pairs: list[tuple[float, float]], seed: int
) -> bool:
    """Whether 1/sqrt(L) explains every scaled spread, and 1/sqrt(2L) none.

    The unscaled spread is what a Block alone has, since a Block cannot know L, or, where GPT initialises everything
    anew, what its other matrices have; or GPT-2's 0.02.
    """
    scaled = [x for x, _ in pairs]
    others = (value for values in model.values() for value in values)
    bases = [value for value in others if not any(math.isclose(value, x, rel_tol=NEAR) for x in scaled)]
    if student.defines("Block"):
        block = student.build("Block", {"d": n.d, "H": n.H, "T_max": n.T_max}, seed=seed)
        bases += [value for values in spreads(block).values() for value in values]
    by_l = all(any(math.isclose(x * math.sqrt(n.L), base, rel_tol=NEAR) for base in bases) for x in scaled)
    by_2l = any(math.isclose(x * math.sqrt(2 * n.L), base, rel_tol=NEAR) for base in (*bases, 0.02) for x in scaled)
    return by_l and not by_2l
