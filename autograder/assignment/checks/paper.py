"""The paper exercises, written as functions: the matrices of a block, the expected initial loss, LayerNorm."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from autograder.assignment import mistakes
from autograder.assignment.measure import student_formula
from autograder.assignment.measure.outputs import as_number
from autograder.assignment.measure.student_formula import EXACT
from autograder.assignment.mistakes import Mistake
from autograder.assignment.sizes import Sizes
from autograder.grading.verdict import Failed, Notes
from autograder.sandbox.remote.student_code import StudentCode

WIDTHS = 24  # all widths are multiples of this, so that matrices may be listed per head


@pytest.mark.needs("block_matrices")
def test_block_matrices(student: StudentCode, sizes: Sizes, rng: np.random.Generator) -> None:
    """The matrices of a block have 12 d^2 entries, two of them with sides d and 4d."""
    for d in (sizes.course.d, *(WIDTHS * int(x) for x in rng.choice(np.arange(1, 40), 2, replace=False))):
        call = f"block_matrices({d})"
        got = student.function("block_matrices", d)
        if not isinstance(got, dict):
            raise Failed(
                f"{call} didn't return a dict of name: (rows, columns).",
                causes=[mistakes.paper.FORMULA_PRINTED] if got is None else [],
            )
        shapes = {str(name): _shape(shape) for name, shape in got.items()}
        for name, shape in shapes.items():
            if shape is None:
                raise Failed(f"{call}[{name!r}] is not a pair of positive integers.", "12 L d^2 counts matrices only.")
        sides = [sorted(shape) for shape in shapes.values() if shape]
        entries = sum(short * long for short, long in sides)
        if entries != 12 * d * d:
            heads = 3 * d * d / (entries - 9 * d * d) if entries > 9 * d * d else 0
            causes = [mistakes.paper.MATRICES_OF_ONE_HEAD] if heads > 1 and heads == int(heads) else []
            raise Failed(
                f"The matrices of {call} have {entries:,} = {entries / d**2:.3g} d^2 entries; 12 d^2 = {12 * d * d:,}.",
                "" if causes else "Are all matrices of one block included, and no bias or LayerNorm?",
                causes,
            )
        for name, shape in shapes.items():
            if shape and d not in shape:
                raise Failed(f"{call}[{name!r}] is {shape}; every matrix in a block has d={d} rows or d={d} columns.")
        wide = sides.count([d, 4 * d])
        if wide != 2:
            raise Failed(
                f"In {call}, {wide} matrices have sides d and 4d; exactly two should: the up-projection and the "
                f"down-projection."
            )


@pytest.mark.needs("expected_initial_loss")
def test_expected_loss(student: StudentCode, sizes: Sizes, rng: np.random.Generator, notes: Notes) -> None:
    """The expected initial loss is ln V + d std^2 / 2."""
    n = sizes.course
    cases = [(n.V, n.d, 1 / math.sqrt(3 * n.d)), (n.V, n.d, 0.02)]
    cases += [(int(rng.integers(20, 300)), int(rng.integers(16, 200)), float(rng.uniform(0.01, 0.1))) for _ in range(3)]
    for V, d, std in cases:
        right, call = student_formula.expected_loss(V, d, std), f"expected_initial_loss({V}, {d}, {std:.4f})"
        value = as_number(student.function("expected_initial_loss", V, d, std))
        if value is None:
            raise Failed(f"{call} didn't return a finite number.", "Does it print the result instead of returning it?")
        if not abs(value - right) <= EXACT * right:
            raise Failed(f"{call} is {value:.4f}; it should be {right:.4f}.", causes=_explain_value(value, V, d, std))
    default, gpt2 = (student_formula.expected_loss(*case) for case in cases[:2])
    notes.remark(
        f"{default:.3f} with nn.Linear's own initialisation, {gpt2:.3f} with GPT-2's, ln {n.V} = {math.log(n.V):.3f}."
    )


@pytest.mark.needs("layer_norm_geometry")
def test_layer_norm(student: StudentCode, sizes: Sizes, rng: np.random.Generator) -> None:
    """The result is the centred vector, rescaled to norm sqrt(d)."""
    for d in (sizes.course.d, 7, 30):
        u = rng.standard_normal(d) * 3 + 2
        got = student.function("layer_norm_geometry", u)
        if not isinstance(got, np.ndarray) or got.shape != (d,):
            raise Failed(f"For a vector of {d} entries, layer_norm_geometry didn't return a vector of {d} entries.")
        if not np.isfinite(got).all():
            raise Failed("layer_norm_geometry returned entries that are not finite.")
        norm, along = float(np.linalg.norm(got)), float(abs(got.sum()) / math.sqrt(d))
        if not along <= 1e-3:
            raise Failed(
                f"The result has a component of {along:.3g} along the vector of ones; it should be 0.",
                causes=[mistakes.paper.GEOMETRY_NOT_CENTRED],
            )
        if not abs(norm - math.sqrt(d)) <= 1e-3 * math.sqrt(d):
            unbiased = abs(norm - math.sqrt(d - 1)) <= 1e-3 * math.sqrt(d)
            raise Failed(
                f"The result has norm {norm:.4f}; it should be sqrt({d}) = {math.sqrt(d):.4f}.",
                "" if unbiased else "Is the centred vector rescaled to norm sqrt(d)?",
                [mistakes.paper.GEOMETRY_UNBIASED] if unbiased else [],
            )
        centred = u - u.mean()
        if not np.allclose(got, centred / np.linalg.norm(centred) * math.sqrt(d), atol=1e-3):
            raise Failed("The result is on the right sphere, but doesn't point along u minus its mean.")


def _shape(value: Any) -> tuple[int, int] | None:
    if not isinstance(value, (tuple, list)) or len(value) != 2:
        return None
    rows, columns = (as_number(size) for size in value)
    if rows is None or columns is None or not all(size.is_integer() and size >= 1 for size in (rows, columns)):
        return None
    return int(rows), int(columns)


def _explain_value(value: float, V: int, d: int, std: float) -> list[Mistake]:
    """Return the mistake that gives this value instead of ln V + d std^2 / 2, if one does."""
    gaps = (
        (mistakes.paper.EXPECTED_LOSS_GAP_MISSING, 0.0),
        (mistakes.paper.EXPECTED_LOSS_GAP_DOUBLED, d * std**2),
        (mistakes.paper.EXPECTED_LOSS_ONE_TERM, std**2 / 2),
        (mistakes.paper.EXPECTED_LOSS_GAP_NEGATIVE, -d * std**2 / 2),
        (mistakes.paper.EXPECTED_LOSS_STD, std * math.sqrt(d) / 2),
        (mistakes.paper.EXPECTED_LOSS_STD, std * d / 2),
    )
    fitting = [row for row, gap in gaps if abs(value - math.log(V) - gap) <= EXACT * abs(value)]
    return fitting[:1]
