"""MLP by itself: what it computes for given weights, how wide it is, and that it treats each position alone."""

from __future__ import annotations

import numpy as np
import pytest

from autograder.checks import ladder, matching
from autograder.oracle import mistakes
from autograder.oracle.handle import Oracle
from autograder.outcome import Failed, Notes
from autograder.sandbox.student import Student

pytestmark = pytest.mark.needs("MLP")

D = 24


@pytest.mark.charges
def test_formula(
    student: Student,
    oracle: Oracle,
    charged: set[str],
    layouts: dict[str, matching.Judged],
    shapes: list[tuple[int, int]],
    rng: np.random.Generator,
    notes: Notes,
) -> None:
    judged = matching.against_oracle(
        oracle,
        "mlp",
        lambda double: student.build("MLP", {"d": D}, double=double),
        [rng.standard_normal((*shape, D)) for shape in shapes],
        lambda out, x: ladder.tensor(out, x.shape),
        {"d": D},
        rng,
    )
    charged.update(judged.names)
    layouts["mlp"] = judged
    matching.decide(judged, "the MLP", notes, ["mlp_width"])


def test_width(student: Student, notes: Notes) -> None:
    for d in (D, 10):
        module = student.build("MLP", {"d": d})
        sizes = sorted({size for p in module.parameters for size in p.shape} - {1})
        entries = sum(p.size for p in module.parameters if p.is_matrix)
        if entries != 8 * d * d or 4 * d not in sizes:
            inner = entries / (2 * d)
            other = inner in sizes  # two matrices of another width, and none missing
            width = f", as with an inner width of {inner:g}" if other else ""
            raise Failed(
                f"The matrices of MLP({d}) have {entries:,} entries{width}; with 4d = {4 * d} they have {8 * d * d:,}.",
                "" if other else "Is there one map to 4d, and one back?",
                [mistakes.named("mlp_width")] if other else [],
            )
    notes.say("4d wide inside.")


def test_alone(student: Student, shapes: list[tuple[int, int]], rng: np.random.Generator, notes: Notes) -> None:
    # The two sides are computed in two processes, so that nothing can be remembered from one to the other.
    module, replica = student.build("MLP", {"d": D}), student.witness.build("MLP", {"d": D})
    weights = {name: value.astype(np.float32) for name, value in matching.own_weights(module, rng).items()}
    B, T = shapes[0]
    x = rng.standard_normal((B, T, D)).astype(np.float32)
    row, position = int(rng.integers(B)), int(rng.integers(T))
    changed = x.copy()
    changed[row, position] = rng.standard_normal(D)
    before = ladder.under(replica, weights, x)
    module.push(weights)
    moved = np.abs(ladder.tensor(module(changed), x.shape) - before).max(-1)
    if not moved[row, position] > 1e-5:
        seen = f"When position {position} changed, the output at position {position} stayed the same."
        raise Failed(seen, "Is x used in forward?")
    moved[row, position] = 0
    if not moved.max() <= 1e-5:
        other = tuple(int(i) for i in np.unravel_index(moved.argmax(), moved.shape))
        raise Failed(
            f"When position {position} of row {row} changed, the output at position {other[1]} of row {other[0]} moved "
            f"by {moved.max():.2g}.",
            "Should the MLP not be applied to each position by itself?",
        )
    notes.say("Position-wise: no position affects another.")
