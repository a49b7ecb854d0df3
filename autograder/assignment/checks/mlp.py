"""MLP: its output for given weights, its hidden width, and that it is position-wise."""

from __future__ import annotations

import numpy as np
import pytest

from autograder.assignment import mistakes
from autograder.assignment.measure import outputs
from autograder.assignment.measure.comparison import Comparison, compare_with_oracle, raise_verdict, random_weights_for
from autograder.assignment.mistakes import Mistake
from autograder.assignment.oracle.client import Oracle
from autograder.assignment.oracle.layouts import build_layout, mlp_matrices
from autograder.grading.verdict import Failed, Notes
from autograder.sandbox.remote.student_code import StudentCode

pytestmark = pytest.mark.needs("MLP")

D = 24


@pytest.mark.deducts
def test_formula(
    student: StudentCode,
    oracle: Oracle,
    deducted: set[Mistake],
    layouts: dict[str, Comparison],
    shapes: list[tuple[int, int]],
    rng: np.random.Generator,
    notes: Notes,
) -> None:
    """With weights set by the grader, the output is that of the formula."""
    comparison = compare_with_oracle(
        oracle,
        "mlp",
        lambda double: student.build("MLP", {"d": D}, double=double),
        [rng.standard_normal((*shape, D)) for shape in shapes],
        lambda out, x: outputs.require_tensor(out, x.shape),
        {"d": D},
        rng,
    )
    deducted.update(comparison.mistakes)
    layouts["mlp"] = comparison
    raise_verdict(comparison, "the MLP", notes, [mistakes.mlp.MLP_WIDTH])


def test_width(student: StudentCode, layouts: dict[str, Comparison]) -> None:
    """The hidden width is 4d."""
    comparison = layouts.get("mlp")
    unused = comparison.left_out if comparison else set()  # the parameter count deducts these
    match = comparison.match if comparison else None
    for d in (D, 10):
        module = student.build("MLP", {"d": d})
        outputs.require_affordable(module)
        used = [p for p in module.parameters if p.name not in unused]
        sizes = sorted({size for p in used for size in p.shape} - {1})
        shapes = [(p.name, p.shape) for p in used]
        known = build_layout(match.layout, shapes, {"d": d}) if match else None
        matrices = [known["up"], known["down"]] if known else list(mlp_matrices(shapes, d).values())
        entries = sum(matrix.size for matrix in matrices)
        if entries != 8 * d * d or not (match or 4 * d in sizes):
            inner = entries / (2 * d)
            other = inner in sizes  # two matrices of a different hidden width
            width = f", as for a hidden width of {inner:g}" if other else ""
            raise Failed(
                f"The matrices of MLP({d}) have {entries:,} entries{width}; with a hidden width of "
                f"4d = {4 * d} there would be {8 * d * d:,}.",
                "" if other else "Is there one up-projection to 4d, and one down-projection to d?",
                [mistakes.mlp.MLP_WIDTH] if other else [],
            )


def test_position_wise(student: StudentCode, shapes: list[tuple[int, int]], rng: np.random.Generator) -> None:
    """The MLP is position-wise: no position affects another."""
    # Each side runs in its own process, so that neither can remember the other's calls.
    module, replica = student.build("MLP", {"d": D}), student.replica.build("MLP", {"d": D})
    weights = {name: value.astype(np.float32) for name, value in random_weights_for(module, rng).items()}
    B, T = shapes[0]
    x = rng.standard_normal((B, T, D)).astype(np.float32)
    row, position = int(rng.integers(B)), int(rng.integers(T))
    changed = x.copy()
    changed[row, position] = rng.standard_normal(D)
    before = outputs.output_under_weights(replica, weights, x)
    module.push(weights)
    change = np.abs(outputs.require_tensor(module(changed), x.shape) - before).max(-1)
    if not change[row, position] > 1e-5:
        measured = f"Replacing x at position {position} left the output at position {position} unchanged."
        raise Failed(measured, "Is x used in forward?")
    change[row, position] = 0
    if not change.max() <= 1e-5:
        other = tuple(int(i) for i in np.unravel_index(change.argmax(), change.shape))
        raise Failed(
            f"Replacing x at position {position} of row {row} changed the output at position {other[1]} of row "
            f"{other[0]} by {change.max():.2g}.",
            "The MLP is position-wise: no position affects another.",
        )
