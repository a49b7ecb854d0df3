"""Test that each logit depends on all earlier tokens, on no later one, and on no other row of the batch.

The two sides of a comparison run in different processes, so that neither can remember the other's calls, and with
weights set by the grader, since at the initial weights some leaks are too small to see. If a mistake in a class has
been named, the oracle's output with that mistake counts too, since two processes of one submission may find a way to
communicate.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
import pytest

from autograder.assignment import mistakes
from autograder.assignment.measure import outputs, whole_model
from autograder.assignment.measure.comparison import Comparison
from autograder.assignment.measure.whole_model import Forward, WholeModel
from autograder.assignment.mistakes import Effect, Mistake
from autograder.assignment.sizes import Dims, Sizes
from autograder.grading.verdict import Failed, Notes
from autograder.sandbox.remote.errors import Raised, StudentError
from autograder.sandbox.remote.proxy import ModuleProxy
from autograder.sandbox.remote.student_code import StudentCode

pytestmark = [
    pytest.mark.needs("GPT"),
    pytest.mark.about("MultiHeadAttention", "Block", "GPT"),
    pytest.mark.usefixtures("logits_depend_on_weights"),
]

TOLERANCE = 1e-6  # relative to the largest logit; on a CPU, a causal model's logits change by exactly 0
ORACLE_TOLERANCE = 1e-5  # the same if one side is the oracle's, which sums in a different order
ALIKE = 1e-3  # difference between nearly equal positions: code could recognise equal ones
CONSTANT = 3e-2  # of the largest logit: what ALIKE comes to through all blocks
KEPT, CHANGED = 2, [0, 1, 3, 4, 5, 6]  # the row that stays, with changed rows before and after it
SUFFIXES = 4  # the first rows in CHANGED get a new suffix, the others one new token
SMALL_SCALE = 0.2
LEAST_CHANGE = 1e-5  # relative to the largest logit; the least by which an earlier token must change a logit


@dataclass(frozen=True)
class Sides:
    """Logits (B, T, V) of the same rows before and after a change, and the position at which each change starts.

    ``rows_mix`` is how much the logits of a row change when all other rows do; 0 up to rounding.
    """

    before: np.ndarray
    after: np.ndarray
    starts: tuple[int, ...]
    rows_mix: float = 0.0
    tolerance: float = 0.0

    def change(self, row: int) -> np.ndarray:
        """Return (T,): how much each position's logits changed, relative to the largest logit; 0 up to rounding."""
        change = np.abs(self.after[row] - self.before[row]).max(-1) / logit_scale(self.before)
        return np.where(change <= self.tolerance, 0, change)


@pytest.fixture(scope="module")
def tokens(sizes: Sizes, module_rng: np.random.Generator) -> np.ndarray:
    """Draw the tokens (B, T_max) of both sides of the comparison."""
    n = sizes.course
    return module_rng.integers(0, n.V, (len(CHANGED) + 1, n.T_max))


@pytest.fixture(scope="module")
def model(student: StudentCode, sizes: Sizes) -> ModuleProxy:
    """Build GPT at the course configuration."""
    return student.shared("GPT", sizes.course.arguments())


@pytest.fixture(scope="module")
def weights(model: ModuleProxy, module_rng: np.random.Generator) -> dict[str, np.ndarray]:
    """Draw weights for every parameter of GPT."""
    return outputs.random_weights(model, module_rng)


@pytest.fixture(scope="module")
def starts(sizes: Sizes) -> tuple[int, ...]:
    """Return where each row in CHANGED changes: suffixes from early to late, then single tokens."""
    T = sizes.course.T_max
    return (1, T // 3, 2 * T // 3, T - 1, 0, T // 2)


@pytest.fixture(scope="module")
def weighted_model(model: ModuleProxy, weights: dict[str, np.ndarray]) -> ModuleProxy:
    """Push ``weights`` into the model, which has not seen ``tokens``: one side of the comparisons."""
    model.push(weights)
    return model


@pytest.fixture(scope="module")
def student_sides(
    student: StudentCode,
    sizes: Sizes,
    whole: WholeModel,
    weights: dict[str, np.ndarray],
    weighted_model: ModuleProxy,
    tokens: np.ndarray,
    starts: tuple[int, ...],
    module_rng: np.random.Generator,
) -> Sides:
    """Measure the student's model.

    The other side comes from the oracle if it agrees with the model up to rounding, else from a replica that sees only
    ``tokens``.
    """
    n = sizes.course
    if not whole.mistakes and (known := whole.forward(weighted_model, n, weighted_model.pull() | weights, module_rng)):
        sides = compare_sides(known, forward_of(weighted_model, n, weights), tokens, starts, n.V, ORACLE_TOLERANCE)
        if not sides.rows_mix and not any(
            sides.change(row)[:start].any() for row, start in enumerate(starts[:SUFFIXES])
        ):
            return sides
    replica = student.replica.shared("GPT", n.arguments())
    # A model whose first call differs from later ones gives different logits on the two sides.
    weighted_model(change_tokens(tokens[CHANGED], starts, n.V)[:1])
    return compare_sides(forward_of(replica, n, weights), forward_of(weighted_model, n, weights), tokens, starts, n.V)


@pytest.fixture(scope="module")
def oracle_sides(
    whole: WholeModel,
    model: ModuleProxy,
    sizes: Sizes,
    weights: dict[str, np.ndarray],
    tokens: np.ndarray,
    starts: tuple[int, ...],
    module_rng: np.random.Generator,
) -> Sides | None:
    """Measure the oracle's composition of the classes and their mistakes; None if unknown or without mistakes."""
    if not whole.mistakes:
        return None
    model.push(weights)
    forward = whole.forward(model, sizes.course, model.pull() | weights, module_rng)
    return forward and compare_sides(forward, forward, tokens, starts, sizes.course.V)


def test_full_model(
    student_sides: Sides,
    oracle_sides: Sides | None,
    weighted_model: ModuleProxy,
    sizes: Sizes,
    tokens: np.ndarray,
    deducted: set[Mistake],
    notes: Notes,
) -> None:
    """No logit depends on a later token."""
    try:
        matrix = measure_influence(weighted_model, tokens[0, : sizes.course.T_max // 4], sizes.course.V)
    except (Failed, StudentError):
        matrix = np.zeros((1, 1))  # only a picture
    starts = student_sides.starts[:SUFFIXES]
    if matrix.any():
        notes.record(influence=[[float(f"{x:.2g}") for x in row] for row in matrix])
    notes.record(suffixes=starts)
    for sides in filter(None, (student_sides, oracle_sides)):
        leaks = [(float(sides.change(row)[:start].max()), row, start) for row, start in enumerate(starts)]
        worst, row, start = max(leaks)
        if not worst <= TOLERANCE:
            earliest = int(np.argmax(sides.change(row) > TOLERANCE))
            causes = mistakes.filter_by_effect(Effect.LEAKS_FUTURE, deducted)
            raise Failed(
                f"Replacing the tokens from position {start} onward changed the logits at position {earliest} by "
                f"{worst * logit_scale(sides.before):.2g}; no logits before position {start} may change.",
                "" if causes else _hint(matrix, sides.change(row), start),
                causes,
            )
    notes.remark(f"Replacing the tokens from position {', '.join(map(str, starts))} onward changed no earlier logit.")


def test_full_context(
    student: StudentCode,
    student_sides: Sides,
    whole: WholeModel,
    sizes: Sizes,
    weights: dict[str, np.ndarray],
    tokens: np.ndarray,
    deducted: set[Mistake],
    notes: Notes,
) -> None:
    """Every logit depends on its own token and on the first one, through at least one block."""
    sides = student_sides
    if any(~(sides.change(row)[start:] > LEAST_CHANGE).all() for row, start in enumerate(sides.starts)):
        small = {name: value * np.float32(SMALL_SCALE) if value.ndim > 1 else value for name, value in weights.items()}
        sides = measure_with_small_weights(student, sizes.course, small, tokens[CHANGED], sides.starts)
    causes = mistakes.filter_by_effect(Effect.LOSES_PAST, deducted)
    for row, start in enumerate(sides.starts[:SUFFIXES]):
        unchanged = np.flatnonzero(~(sides.change(row)[start:] > 0)) + start
        if unchanged.size:
            raise Failed(
                f"Replacing all tokens from position {start} onward left the logits at position {unchanged[0]} "
                f"unchanged.",
                "" if causes else "Is idx embedded, and does each block add to its input rather than replace it?",
                causes,
            )
    for row, start in enumerate(sides.starts[SUFFIXES:], SUFFIXES):
        unchanged = np.flatnonzero(~(sides.change(row)[start:] > 0)) + start
        if unchanged.size:
            raise Failed(
                f"Replacing the token at position {start} alone left the logits at position {unchanged[-1]} unchanged.",
                "" if causes else "Each position should attend to all earlier ones.",
                causes,
            )
    if whole.without_blocks:
        raise Failed(
            f"{whole.unused} These include all the blocks' parameters, so later positions get information from earlier "
            f"ones by some other route than attention.",
            whole_model.UNUSED,
        )
    notes.record(reach=float(f"{sides.change(SUFFIXES)[-1]:.2g}"))
    notes.remark(f"The first token affects the logits at all {sizes.course.T_max} positions.")


def test_batch_independence(student_sides: Sides, oracle_sides: Sides | None, deducted: set[Mistake]) -> None:
    """No logit depends on another row of the batch."""
    for sides in filter(None, (student_sides, oracle_sides)):
        if sides.rows_mix:
            causes = mistakes.filter_by_effect(Effect.MIXES_ROWS, deducted)
            raise Failed(
                f"Replacing all other rows of the batch changed the logits of the remaining row by "
                f"{sides.rows_mix:.2g}; they must not change.",
                "" if causes else "Is there a softmax, mean or reshape over the batch axis (dim=0)?",
                causes,
            )


def test_rows_sum_to_one(
    student: StudentCode,
    sizes: Sizes,
    deducted: set[Mistake],
    layouts: dict[str, Comparison],
    rng: np.random.Generator,
    notes: Notes,
) -> None:
    """A constant input gives the same logits at all positions."""
    n = replace(sizes.small, T_max=14)  # no other matrix has a size near T_max
    row = np.full((1, n.T_max), rng.integers(n.V))
    # A norm over positions would amplify these differences; a separate check deducts that mistake.
    epsilon = 0.0 if deducted & {mistakes.norm.NORM_OVER_TIME, mistakes.norm.NORM_OVER_BOTH} else ALIKE
    try:
        # In float64, since a norm along a constant axis amplifies rounding.
        repeated, single = logits_of_constant_input(student, n, row, rng, epsilon, double=True)
    except Raised:
        repeated, single = logits_of_constant_input(student, n, row, rng, epsilon, double=False)
    gap = np.abs(repeated - single).max(-1) / logit_scale(single)
    if not gap.max() <= CONSTANT:
        causes = mistakes.filter_by_effect(Effect.WEIGHTS_DO_NOT_SUM_TO_ONE, deducted)
        parameters = student.shared("GPT", n.arguments()).parameters
        if not causes and not any(position_axes(p.shape, n) for p in parameters):
            notes.remark("The position embeddings are not a parameter, so they can't be set to be equal.")
            return
        is_excluded = bool(layouts.get("attention") and layouts["attention"].match) and not causes
        if is_excluded and mistakes.filter_by_effect(Effect.DEFIES_CONSTANT_INPUT, deducted):
            notes.remark("The attention weights sum to 1, as the attention's own check shows.")
            return
        raise Failed(
            f"With one token repeated {n.T_max} times and equal position embeddings, the logits at position "
            f"{int(gap.argmax())} differ by {gap.max() * logit_scale(single):.2g} from those of that token alone.",
            "" if causes or is_excluded else "Do the attention weights of each position sum to 1, in every head?",
            causes,
        )
    notes.remark("A constant input gives the same logits at all positions.")


def measure_with_small_weights(
    student: StudentCode, n: Dims, weights: dict[str, np.ndarray], tokens: np.ndarray, starts: tuple[int, ...]
) -> Sides:
    """Measure again with smaller matrices, for models in which large ones saturate a softmax.

    The rows change one at a time, so that no other row can change the logits.
    """
    replica, model = (side.shared("GPT", n.arguments()) for side in (student.replica, student))
    for side in (replica, model):
        side.push(weights)
    shape = (*tokens.shape, n.V)
    before = outputs.require_logits(replica(tokens), shape)
    after = before.copy()
    other_rows = change_tokens(tokens, starts, n.V)
    for row in range(len(tokens)):
        changed = tokens.copy()
        changed[row] = other_rows[row]
        after[row] = outputs.require_logits(model(changed), shape)[row]
    return Sides(before, after, starts)


def logits_of_constant_input(
    student: StudentCode, n: Dims, row: np.ndarray, rng: np.random.Generator, epsilon: float, double: bool
) -> tuple[np.ndarray, np.ndarray]:
    """Return the logits (T, V) of equal tokens, and (1, V) of one alone, with equal position embeddings."""
    model = student.build("GPT", n.arguments(), double=double)
    weights = outputs.random_weights(model, rng)
    # With the same vector at all positions, any average is that vector too. Tokens and positions may share a table, and
    # a table may not be trained.
    constant_tables = {
        name: np.repeat(np.take(value, [0], axis), value.shape[axis], axis) + epsilon * value
        for name, value in (model.pull() | weights).items()
        for axis in position_axes(value.shape, n)
    }
    model.push(weights | constant_tables)
    T = row.shape[1]
    return outputs.require_logits(model(row), (1, T, n.V))[0], outputs.require_logits(model(row[:, :1]), (1, 1, n.V))[0]


def position_axes(shape: tuple[int, ...], n: Dims) -> list[int]:
    """Return the axes of a table of vectors along which positions may be numbered, after tokens or alone."""
    return [
        axis
        for axis, rows in enumerate(shape)
        if rows in (n.T_max - 1, n.T_max, n.T_max + 1, n.V + n.T_max)
        and math.prod(shape) % (rows * n.d) == 0
        and n.d in shape
    ]


def logit_scale(logits: np.ndarray) -> float:
    """Return the largest logit, but at least 1.

    Parts that are equal for all tokens or at all positions are subtracted first: next to a large constant every leak
    would be small.
    """
    wide = logits.astype(np.float64)
    wide -= wide.mean(-1, keepdims=True)
    if len(wide) > 1:
        wide -= wide.mean((0, 1), keepdims=True)
    return max(1.0, float(np.abs(wide).max()))


def compare_sides(
    before: Forward, after: Forward, tokens: np.ndarray, starts: tuple[int, ...], V: int, tolerance: float = 0.0
) -> Sides:
    """Compare ``before`` on ``tokens`` with ``after`` on tokens changed from ``starts`` on, in the rows CHANGED.

    If rows affect each other, each runs in its own batch, so that this mistake is not taken for a leak through time.
    """
    changed = tokens.copy()
    changed[CHANGED] = change_tokens(tokens[CHANGED], starts, V)
    earlier, later = before(tokens), after(changed)
    rows_mix = float(np.abs(later[KEPT] - earlier[KEPT]).max())
    if rows_mix <= max(tolerance, TOLERANCE) * logit_scale(earlier):
        return Sides(earlier[CHANGED], later[CHANGED], starts, tolerance=tolerance)
    earlier, later = (
        np.concatenate([forward(row[None]) for row in rows[CHANGED]])
        for forward, rows in ((before, tokens), (after, changed))
    )
    return Sides(earlier, later, starts, rows_mix, tolerance)


def forward_of(model: ModuleProxy, n: Dims, weights: dict[str, np.ndarray]) -> Forward:
    """Return the student's own forward with ``weights``, which each call may change."""

    def forward(idx: np.ndarray) -> np.ndarray:
        model.push(weights)
        return outputs.require_logits(model(idx), (*idx.shape, n.V))

    return forward


def measure_influence(model: ModuleProxy, row: np.ndarray, V: int) -> np.ndarray:
    """Return (T, T), from one call: the largest change of the logits at t when only token s changes."""
    T = len(row)
    batch = np.repeat(row[None], T + 1, 0)
    batch[range(T), range(T)] = different_tokens(row, V)
    logits = outputs.require_logits(model(batch), (T + 1, T, V))
    return np.asarray(np.abs(logits[:-1] - logits[-1:]).max(-1).T)


def change_tokens(rows: np.ndarray, starts: tuple[int, ...], V: int) -> np.ndarray:
    """Replace the tokens of each row from its start on; after the first SUFFIXES rows only the one at the start."""
    changed = rows.copy()
    for number, (row, start) in enumerate(zip(changed, starts, strict=True)):
        stop = len(row) if number < SUFFIXES else start + 1
        row[start:stop] = different_tokens(row[start:stop], V)
    return changed


def different_tokens(tokens: np.ndarray, V: int) -> np.ndarray:
    """Return tokens that all differ from ``tokens``."""
    return np.asarray((tokens + 1 + tokens % (V - 1)) % V)


def _hint(matrix: np.ndarray, change: np.ndarray, start: int) -> str:
    """Say in one sentence where the leak comes from, judging by the influence matrix."""
    T = len(matrix)
    future = np.triu(matrix, 1) > 0
    if T < 2:
        return "Which operation mixes positions outside the masked attention?"
    if np.array_equal(future, np.eye(T, k=1, dtype=bool)) or not (np.triu(matrix, 2) > 0).any():
        return "Only the next token leaks: does the causal mask keep one diagonal too many?"
    if future[np.triu_indices(T, 1)].all():
        return "Every later token leaks: is the mask applied to the scores before a softmax over the key axis?"
    back = start - int(np.argmax(change > 0))
    return f"The leak reaches back {back} position{'s' * (back > 1)}: which operation mixes positions outside the mask?"
