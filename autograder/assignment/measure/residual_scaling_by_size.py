"""Residual scaling measured by matrix sizes: the fallback if the layouts of the classes are unknown."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Collection
from dataclasses import dataclass

import numpy as np

from autograder.assignment import mistakes
from autograder.assignment.measure import outputs
from autograder.assignment.measure.residual_scaling import (
    LAYERS,
    LOOSE_TOLERANCE,
    ROLES,
    SCALED_BOTH,
    SCALED_DOWN,
    WRONG_FACTORS,
    is_roughly,
    standard_deviation,
)
from autograder.assignment.mistakes import Mistake
from autograder.assignment.sizes import Dims
from autograder.grading.verdict import Failed, Notes, Partial
from autograder.sandbox.remote.errors import StudentError
from autograder.sandbox.remote.proxy import ModuleProxy
from autograder.sandbox.remote.student_code import StudentCode

TOLERANCE = 0.04  # relative
MOST_SCALED = 0.6  # of the entries in a block's matrices: the two projections have 5 of 12


@dataclass(frozen=True)
class MatrixKind:
    """A matrix in each block: its number of entries, and its standard deviation for both numbers of LAYERS."""

    entries: int
    before: float
    after: float


@dataclass(frozen=True)
class ScalingFactor:
    """The factor by which GPT has scaled a tensor of a Block."""

    factor: float
    entries: int
    is_matrix: bool


def check_scaling_by_size(
    student: StudentCode, few: Dims, many: Dims, deducted: set[Mistake], seed: int, notes: Notes
) -> None:
    """Raise Partial or Failed unless two matrices of each block halve their standard deviation from few to many blocks.

    Args:
        student: The submission.
        few: The sizes of the smaller model.
        many: The sizes of the larger model, with four times as many blocks.
        deducted: The mistakes found so far; without a projection in the attention, one matrix is enough.
        seed: The seed of both models.
        notes: Records the standard deviations.
    """
    before, after = (matrix_kinds(student.build("GPT", n.arguments(), seed=seed)) for n in (few, many))
    halved = [
        kind for pattern, values in before.items() for kind in find_halved_kinds(values, after.get(pattern, []), few.d)
    ]
    square = few.d**2
    of_attention = (square // few.H, square, square * few.H)  # per head, whole, or with heads of full width
    in_attention = [kind for kind in halved if kind.entries in of_attention]
    in_mlp = [kind for kind in halved if kind.entries not in of_attention]
    is_mlp_wide = any(value.size == 4 * square for values in before.values() for value in values)
    if not in_mlp and len(in_attention) > 1 and not is_mlp_wide:  # a narrower MLP may be as large as the projection
        in_mlp = [in_attention.pop()]
    scaled_entries = sum(kind.entries for kind in halved if kind.before)
    if scaled_entries > MOST_SCALED * sum(value.size for values in before.values() for value in values):
        raise Failed(
            f"From L={few.L} to L={many.L}, the standard deviation of {len(halved)} matrices in each block halves.",
            causes=[mistakes.initial_loss.SCALING_OF_OTHER_MATRICES],
        )
    by_projection = {ROLES["o"]: in_attention, ROLES["down"]: in_mlp}
    notes.record(
        standard_deviations={
            name: [[round(kind.before, 5), round(kind.after, 5)] for kind in kinds]
            for name, kinds in by_projection.items()
        }
    )
    unscaled = [name for name, kinds in by_projection.items() if not kinds]
    if unscaled == [ROLES["o"]] and mistakes.attention.PROJECTION_MISSING in deducted:
        notes.remark(SCALED_DOWN)
        return
    if unscaled:
        measured = f"From L={few.L} to L={many.L}, the standard deviation of {' and '.join(unscaled)} doesn't halve."
        if not any(value.size in of_attention for values in before.values() for value in values):
            raise Failed(f"{measured} No parameter has the size of such a matrix.", "Are the blocks registered?")
        causes = _explain_unscaled(student, few, many, unscaled, of_attention, seed)
        raise (Partial if len(unscaled) == 1 else Failed)(
            measured, "" if causes else "What factor does GPT multiply these weights by, and when?", causes
        )
    deviations = [kind.before for kind in halved]
    if all(deviations) and _is_scaled_by_sqrt_L(student, few, before, deviations, seed):
        raise Failed(
            f"At L={few.L}, both projections are scaled by {1 / math.sqrt(few.L):.2f}; the factor should be "
            f"{1 / math.sqrt(2 * few.L):.2f}.",
            causes=[mistakes.initial_loss.SCALING_SQRT_L],
        )
    notes.remark(SCALED_BOTH)


def _explain_unscaled(
    student: StudentCode, few: Dims, many: Dims, unscaled: list[str], attention_sizes: Collection[int], seed: int
) -> list[Mistake]:
    """Return the mistake that explains why the ``unscaled`` projections do not halve.

    It is found by their factors relative to a single Block.
    """
    before, after = (_scaling_factors(student, n, seed) for n in (few, many))
    weights = {name for name in before if before[name].is_matrix and name in after}
    rescaled = {
        name for name in weights if not (is_roughly(before[name].factor, 1) and is_roughly(after[name].factor, 1))
    }
    if len(unscaled) == 1:
        of_attention = "attention" in unscaled[0]
        rescaled = {name for name in rescaled if (before[name].entries in attention_sizes) == of_attention}
        if not rescaled:
            return [
                mistakes.initial_loss.SCALING_ATTENTION_MISSING
                if of_attention
                else mistakes.initial_loss.SCALING_MLP_MISSING
            ]

    def is_any_scaled(names: Collection[str], factor: Callable[[int], float]) -> bool:
        return any(
            is_roughly(before[name].factor, factor(few.L)) and is_roughly(after[name].factor, factor(many.L))
            for name in names
        )

    for mistake, factor in WRONG_FACTORS:
        if is_any_scaled(rescaled, factor):
            return [mistake]
    if is_any_scaled(set(before) - weights, lambda L: 1 / math.sqrt(2 * L)):
        return [mistakes.initial_loss.SCALING_BIASES_ONLY]
    if rescaled and len(rescaled) < len(weights):
        is_constant = all(is_roughly(before[name].factor, after[name].factor) for name in rescaled)
        return [mistakes.initial_loss.SCALING_CONSTANT] if is_constant else []
    return [mistakes.initial_loss.SCALING_MISSING]


def _scaling_factors(student: StudentCode, n: Dims, seed: int) -> dict[str, ScalingFactor]:
    """Return the factor of each tensor of a Block, by its name there; empty if a single Block cannot be built."""
    try:
        block = student.build("Block", {"d": n.d, "H": n.H, "T_max": n.T_max}, seed=seed).pull()
    except StudentError:
        return {}
    model = student.build("GPT", n.arguments(), seed=seed).pull()
    factors = {}
    for name, value in block.items():
        deviations = [standard_deviation(tensor) for path, tensor in model.items() if path.endswith(f".{name}")]
        if deviations and (unscaled := standard_deviation(value)):
            factors[name] = ScalingFactor(float(np.mean(deviations)) / unscaled, value.size, value.ndim > 1)
    return factors


def matrix_kinds(model: ModuleProxy) -> dict[str, list[np.ndarray]]:
    """Return the model's matrices by shape and name, ignoring the block numbers in the name."""
    outputs.require_affordable(model)
    kinds: dict[str, list[np.ndarray]] = {}
    for name, value in model.pull().items():
        if value.ndim >= 2:
            kinds.setdefault(f"{re.sub('[0-9]+', '*', name)} {value.shape}", []).append(value)
    return kinds


def find_halved_kinds(before: list[np.ndarray], after: list[np.ndarray], d: int) -> list[MatrixKind]:
    """Return the kinds whose standard deviation halves between LAYERS, among matrices of one shape and one name.

    Several may be in one tensor, or differ only by a number in their names. Those that are equal for both numbers of
    blocks are set aside first. Matrices initialised to zero count as scaled.
    """
    few, many = LAYERS
    for axis, parts in _possible_splits(before[0].shape, d):
        few_pieces, many_pieces = (
            [piece for value in values for piece in np.split(value, parts, axis)] for values in (before, after)
        )
        if any(
            _differ_in_deviation(pieces[i : i + parts])
            for pieces in (few_pieces, many_pieces)
            for i in range(0, len(pieces), parts)
        ):
            return find_halved_kinds(few_pieces, many_pieces, d)
    kinds = (len(after) - len(before)) // (many - few)  # in each block; correct even if there is an extra block
    if not kinds and len(before) == len(after):
        kinds = len(before)  # shared by all blocks, or outside them
    if kinds < 1 or len(before) % kinds or len(after) % kinds:
        return []
    first, last = (_group_means(sorted(map(standard_deviation, values)), kinds) for values in (before, after))
    pairs = [(x, x) for x in first if x == 0 and 0 in last]
    for x in list(first):
        same = next((y for y in last if math.isclose(x, y, rel_tol=LOOSE_TOLERANCE)), None)
        if same is not None:
            first.remove(x)
            last.remove(same)
    ratio = math.sqrt(few / many)
    pairs += [(x, y) for x, y in zip(first, last, strict=False) if math.isclose(y, x * ratio, rel_tol=LOOSE_TOLERANCE)]
    return [MatrixKind(before[0].size, x, y) for x, y in pairs]


def _possible_splits(shape: tuple[int, ...], d: int) -> list[tuple[int, int]]:
    """Return (axis, number of parts) for each way in which several matrices may be concatenated in one tensor."""
    sides = [
        (axis, parts) for axis, size in enumerate(shape) for parts in (size, size // d) if size in (parts, parts * d)
    ]
    return [(axis, parts) for axis, parts in sides if 1 < parts <= 4 and math.prod(shape) >= parts * d * d // 2]


def _differ_in_deviation(pieces: list[np.ndarray]) -> bool:
    """Return whether the standard deviations of the parts of one tensor differ by more than their sampling error."""
    deviations = [standard_deviation(piece) for piece in pieces]
    return max(deviations) > (1 + 2 * LOOSE_TOLERANCE) * min(deviations)


def _group_means(values: list[float], kinds: int) -> list[float]:
    """Return the means of ``kinds`` equal groups of consecutive values."""
    size = len(values) // kinds
    return [float(np.mean(values[i : i + size])) for i in range(0, len(values), size)]


def _is_scaled_by_sqrt_L(
    student: StudentCode, n: Dims, model: dict[str, list[np.ndarray]], scaled: list[float], seed: int
) -> bool:
    """Return whether 1/sqrt(L) explains every scaled deviation, and 1/sqrt(2L) none.

    The unscaled deviation is that of a single Block, since a Block cannot know L, or that of GPT's other matrices if
    GPT initialises everything anew, or GPT-2's 0.02.
    """
    others = _all_deviations(model, n.d)
    bases = [value for value in others if not any(math.isclose(value, x, rel_tol=TOLERANCE) for x in scaled)]
    if student.defines("Block"):
        block = student.build("Block", {"d": n.d, "H": n.H, "T_max": n.T_max}, seed=seed)
        bases += _all_deviations(matrix_kinds(block), n.d)
    by_l = all(any(math.isclose(x * math.sqrt(n.L), base, rel_tol=TOLERANCE) for base in bases) for x in scaled)
    by_2l = any(
        math.isclose(x * math.sqrt(2 * n.L), base, rel_tol=TOLERANCE) for base in (*bases, 0.02) for x in scaled
    )
    return by_l and not by_2l


def _all_deviations(model: dict[str, list[np.ndarray]], d: int) -> list[float]:
    """Return the standard deviations of all matrices, and of the parts that may be separate matrices."""
    values = [value for group in model.values() for value in group]
    pieces = [
        piece
        for value in values
        for axis, parts in _possible_splits(value.shape, d)
        for piece in np.split(value, parts, axis)
    ]
    return [standard_deviation(value) for value in (*values, *pieces)]
