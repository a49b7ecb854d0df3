"""Find the projections that add to the residual stream by their effect on a block's output, or else by name alone."""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np

from autograder.assignment import mistakes
from autograder.assignment.measure import outputs, parameter_usage
from autograder.assignment.measure.residual_scaling import LAYERS, Sublayer, are_equal, standard_deviation
from autograder.assignment.mistakes import Mistake
from autograder.assignment.oracle import layouts
from autograder.assignment.sizes import Dims
from autograder.grading.verdict import Failed, Notes, Partial
from autograder.sandbox.remote.errors import StudentError
from autograder.sandbox.remote.proxy import ModuleProxy
from autograder.sandbox.remote.student_code import StudentCode

SMALLEST = 1024  # entries of a matrix whose deviation is known to 2%
SHARE = 0.5  # of the change that one output of a residual projection makes, at least this much is in one feature
MOST_SCALED = 0.6  # of the entries in a block's matrices: the two projections have 5 of 12

Entries = dict[str, np.ndarray]  # numbers of a block's entries, by role
Parts = dict[tuple[str, int], np.ndarray]  # the same, by tensor and number of the matrix in it
Factors = Sequence[tuple[str, np.ndarray, float]]  # tensor, numbers of some of its entries, factor


def find_sublayers_by_effect(student: StudentCode, n: Dims) -> list[Sublayer]:
    """Find the residual projections in the student's Block; an empty list if it doesn't run, or they aren't found.

    Each of their outputs is added to one feature of the residual stream, so its weights change that feature alone;
    those of any other matrix go through the projection and change all features.
    """
    try:
        block = student.build("Block", {"d": n.d, "H": n.H, "T_max": n.T_max})
        roles = _find_roles(_Trial(block, n))
    except (Failed, StudentError):
        return []
    return [Sublayer(list(block.parameters), roles)] if roles else []


class _Trial:
    """A Block with random weights, of which some are changed for one call."""

    def __init__(self, block: ModuleProxy, n: Dims) -> None:
        rng = np.random.default_rng(0)
        self.d, self.block = n.d, block
        self.x = rng.standard_normal((2, n.T_max, n.d)).astype(np.float32)
        self.weights = outputs.random_weights(block, rng)
        numbered = dict(layouts.number_entries(parameter_usage.shapes(block.parameters)))
        self.matrices = {
            p.name: numbered[p.name] for p in block.parameters if len(p.shape) > 1 and p.name in self.weights
        }

    def output(self, factors: Factors = (), x: np.ndarray | None = None) -> np.ndarray:
        """Return the output with these factors."""
        x = self.x if x is None else x
        changed = {name: self.weights[name].copy() for name, _, _ in factors}
        for name, at, factor in factors:
            changed[name][np.isin(self.matrices[name], at)] *= np.float32(factor)
        self.block.push(self.weights | changed)
        return outputs.require_tensor(self.block(x), x.shape).astype(np.float64)


def _find_roles(trial: _Trial) -> Entries:
    """Return the entries of the projections, "o" and "down", and of the other matrices in the sublayer of each."""
    found: Parts = {}
    # With the first ones at zero, those whose output goes through them come next: attention's goes through the MLP.
    for _ in range(2):
        silent = [(name, at, 0.0) for (name, _), at in found.items()]
        found |= _find_projections(trial, silent)
    roles: dict[str, list[np.ndarray]] = {}
    for key, at in found.items():
        others = [(name, entries, 0.0) for (name, part), entries in found.items() if (name, part) != key]
        roles.setdefault("o" if _mixes_positions(trial, others) else "down", []).append(at)
    projections = {name for name, _ in found}
    merged = {role: np.concatenate(parts) for role, parts in roles.items()}
    return merged | _find_neighbours(trial, projections, found, merged)


def _find_projections(trial: _Trial, silent: Factors) -> Parts:
    """Return the matrices, or parts of fused ones, of which each output changes one feature: entries (inputs, d)."""
    found: Parts = {}
    before = trial.output(silent)
    for name, entries in trial.matrices.items():
        for axis in {entries.ndim - 1, entries.ndim - 2}:
            for part in range(entries.shape[axis] // trial.d if entries.shape[axis] % trial.d == 0 else 0):
                one = np.take(entries, part * trial.d, axis)
                energy = np.square(trial.output([*silent, (name, one, -1.0)]) - before).sum((0, 1))
                if energy.max() > SHARE * energy.sum():
                    whole = np.take(entries, range(part * trial.d, (part + 1) * trial.d), axis)
                    found[name, part] = np.moveaxis(whole, axis, -1).reshape(-1, trial.d)
    return found


def _mixes_positions(trial: _Trial, others: Factors) -> bool:
    """Return whether the last position's output depends on the first, with the ``others`` at zero: in attention."""
    changed = trial.x.copy()
    changed[:, 0] = 1 - changed[:, 0]
    return not np.array_equal(trial.output(others)[:, -1], trial.output(others, changed)[:, -1])


def _find_neighbours(trial: _Trial, projections: set[str], found: Parts, roles: Entries) -> Entries:
    """Return the large matrices that have an effect only through one projection, named by role and tensor."""
    silent = {
        role: [(name, at, 0.0) for (name, _), at in found.items() if np.isin(at, entries).all()]
        for role, entries in roles.items()
    }
    neighbours: dict[str, list[np.ndarray]] = {}
    for name, entries in trial.matrices.items():
        if name in projections:
            continue
        without = [
            role
            for role, zeros in silent.items()
            if np.array_equal(trial.output(zeros), trial.output([*zeros, (name, entries, 2.0)]))
        ]
        if len(without) == 1:  # one without effect at all is in no sublayer
            key = f"{without[0]}~{re.sub('[0-9]+', '*', name)}"
            neighbours.setdefault(key, []).append(entries.reshape(-1))
    merged = {key: np.concatenate(parts) for key, parts in neighbours.items()}
    return {key: entries for key, entries in merged.items() if entries.size >= SMALLEST}


def check_scaling_by_name(
    student: StudentCode, few: Dims, many: Dims, deducted: set[Mistake], seed: int, notes: Notes
) -> None:
    """Raise Partial or Failed unless two matrices of each block halve their standard deviation from few to many blocks.

    Without a Block that runs, nothing shows which matrix is which, so no mistake is named.

    Args:
        student: The submission.
        few: The sizes of the smaller model.
        many: The sizes of the larger model, with four times as many blocks.
        deducted: The mistakes found so far; without a projection in the attention, one matrix is enough.
        seed: The seed of both models.
        notes: Records the names.
    """
    before, after = (_group_matrices(student.build("GPT", n.arguments(), seed=seed), n.L) for n in (few, many))
    common = [key for key in before if key in after]
    halved = [key for key in common if _halves(before[key], after[key])]
    notes.record(scaled=halved)
    scaled_entries, entries = (sum(value.size for key in keys for value in before[key]) for keys in (halved, common))
    if scaled_entries > MOST_SCALED * entries:
        raise Failed(
            f"From L={few.L} to L={many.L}, the standard deviation of {len(halved)} matrices in each block halves.",
            causes=[mistakes.initial_loss.SCALING_OF_OTHER_MATRICES],
        )
    expected = 1 if mistakes.attention.PROJECTION_MISSING in deducted else 2
    if len(halved) < expected:
        raise (Partial if halved else Failed)(
            f"From L={few.L} to L={many.L}, the standard deviation of {' and '.join(halved) or 'no matrix'} halves; "
            f"that of {expected} in each block should.",
            "What factor does GPT multiply these weights by, and when?",
        )
    notes.remark(f"{' and '.join(halved)} are scaled by 1/sqrt(L), up to a constant.")


def _group_matrices(model: ModuleProxy, L: int) -> dict[str, list[np.ndarray]]:
    """Return the model's matrices by name and shape, those of all blocks together.

    Their names differ by the first number, or one tensor holds them along its first axis.
    """
    outputs.require_affordable(model)
    groups: dict[str, list[np.ndarray]] = {}
    for name, value in model.pull().items():
        for matrix in value if value.ndim > 2 and len(value) == L else [value]:
            if matrix.ndim >= 2:
                groups.setdefault(f"{re.sub('[0-9]+', '*', name, count=1)} {matrix.shape}", []).append(matrix)
    return groups


def _halves(before: list[np.ndarray], after: list[np.ndarray]) -> bool:
    """Return whether standard deviations are as 1/sqrt(L), in each block; zeros count as scaled."""
    by_L = zip(LAYERS, (before, after), strict=True)
    return are_equal(standard_deviation(value) * L**0.5 for L, values in by_L for value in values)
