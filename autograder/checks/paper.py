"""The exercises on paper, written as functions: which matrices, which loss to expect, what LayerNorm does."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from autograder.assignment import Assignment
from autograder.checks.ladder import number
from autograder.outcome import Failed, Notes
from autograder.sandbox.student import Student

EXACT = 1e-4  # relative: a student may compute in float32


@pytest.mark.needs("block_matrices")
def test_block_matrices(student: Student, assignment: Assignment, notes: Notes) -> None:
    for d in (assignment.course.d, 18, 50):
        call = f"block_matrices({d})"
        got = student.function("block_matrices", d)
        if not isinstance(got, dict):
            raise Failed(f"{call} returned no dict of name: (rows, columns).", "Did it print instead of return?")
        shapes = {str(name): _shape(shape) for name, shape in got.items()}
        for name, shape in shapes.items():
            if shape is None:
                raise Failed(
                    f"{call}[{name!r}] is not a pair of positive whole numbers.", "12 L d^2 counts matrices only."
                )
        entries = sum(rows * columns for rows, columns in filter(None, shapes.values()))
        if entries != 12 * d * d:
            raise Failed(
                f"The matrices of {call} have {entries:,} = {entries / d**2:.3g} d^2 entries; 12 d^2 = {12 * d * d:,}.",
                "Does one block's list have the attention's four and the MLP's two, without biases and norms?",
            )
        wide = sum(rows * columns for rows, columns in filter(None, shapes.values()) if 4 * d in (rows, columns))
        if wide != 8 * d * d:
            raise Failed(f"In {call}, {wide / d**2:.3g} d^2 entries lie in matrices with a side of 4d; 8 d^2 should.")
    notes.say("4 d^2 in the attention, 8 d^2 in the MLP.")


@pytest.mark.needs("expected_initial_loss")
def test_expected_loss(student: Student, assignment: Assignment, rng: np.random.Generator, notes: Notes) -> None:
    n = assignment.course
    cases = [(n.V, n.d, 1 / math.sqrt(3 * n.d)), (n.V, n.d, 0.02)]
    cases += [(int(rng.integers(20, 300)), int(rng.integers(16, 200)), float(rng.uniform(0.01, 0.1))) for _ in range(3)]
    for V, d, std in cases:
        right, call = math.log(V) + d * std**2 / 2, f"expected_initial_loss({V}, {d}, {std:.4f})"
        value = number(student.function("expected_initial_loss", V, d, std))
        if value is None or not math.isfinite(value):
            raise Failed(f"{call} returned no finite number.", "Did it print instead of return?")
        if not abs(value - right) <= EXACT * right:
            raise Failed(f"{call} is {value:.4f} instead of {right:.4f}.", _likely(value, V, d, std))
    default, gpt2 = (math.log(V) + d * std**2 / 2 for V, d, std in cases[:2])
    notes.say(
        f"{default:.3f} with nn.Linear's own initialisation, {gpt2:.3f} with GPT-2's, ln {n.V} = {math.log(n.V):.3f}."
    )


@pytest.mark.needs("layer_norm_geometry")
def test_layer_norm(student: Student, assignment: Assignment, rng: np.random.Generator, notes: Notes) -> None:
    for d in (assignment.course.d, 7, 30):
        u = rng.standard_normal(d) * 3 + 2
        got = student.function("layer_norm_geometry", u)
        if not isinstance(got, np.ndarray) or got.shape != (d,):
            raise Failed(f"For a vector of {d} entries, layer_norm_geometry returned no vector of {d} entries.")
        if not np.isfinite(got).all():
            raise Failed("layer_norm_geometry returned entries that are not finite.")
        norm, along = float(np.linalg.norm(got)), float(abs(got.sum()) / math.sqrt(d))
        if not along <= 1e-3:
            raise Failed(
                f"The result has a part of length {along:.3g} along the vector of ones.", "Is the mean subtracted?"
            )
        if not abs(norm - math.sqrt(d)) <= 1e-3 * math.sqrt(d):
            unbiased = abs(norm - math.sqrt(d - 1)) <= 1e-3 * math.sqrt(d)
            hint = (
                "That is sqrt(d - 1): is the variance divided by d - 1?" if unbiased else "Where does it end, radially?"
            )
            raise Failed(f"The result has the length {norm:.4f}; sqrt({d}) = {math.sqrt(d):.4f}.", hint)
        centred = u - u.mean()
        if not np.allclose(got, centred / np.linalg.norm(centred) * math.sqrt(d), atol=1e-3):
            raise Failed("The result lies on the right sphere, but not in the direction of u without its mean.")
    notes.say("Onto the complement of the ones, then out to the sphere of radius sqrt(d).")


def _shape(value: Any) -> tuple[int, int] | None:
    if not isinstance(value, (tuple, list)) or len(value) != 2:
        return None
    rows, columns = (number(size) for size in value)
    if rows is None or columns is None or not all(size.is_integer() and size >= 1 for size in (rows, columns)):
        return None
    return int(rows), int(columns)


def _likely(value: float, V: int, d: int, std: float) -> str:
    """Where the value equals a near miss of ln V + d std^2 / 2, which one."""
    near = {
        math.log(V): "That is ln V: what do logits that are not all alike add to it?",
        math.log(V) + d * std**2: "The second term is twice what it should be: what is ln E[exp z] for a normal z?",
        math.log(V) + std**2 / 2: "A logit sums d terms: what is its variance?",
        math.log(V) - d * std**2 / 2: "The gap has the wrong sign: uneven logits make the loss larger than ln V.",
        math.log(V) + std * math.sqrt(d) / 2: "Is it the variance, or the standard deviation, that enters?",
    }
    return next((hint for miss, hint in near.items() if abs(value - miss) <= EXACT * abs(miss)), "")
