"""Head alone: the shape of its output, and its values for given weights."""

from __future__ import annotations

import numpy as np
import pytest

from autograder.grading.verdict import Failed, Partial
from autograder.sandbox.remote.oracle_process import OracleProcess
from autograder.sandbox.remote.student_code import StudentCode
from tests.head_assignment.measure import SIZES, TOLERANCE, draw_input, draw_weights, output
from tests.head_assignment.mistakes import MISTAKES

pytestmark = pytest.mark.needs("Head")


def test_shape(student: StudentCode, rng: np.random.Generator) -> None:
    for T in (SIZES["T_max"], 3, 1):
        output(student, draw_weights(rng), draw_input(rng, T))


def test_values(student: StudentCode, oracle: OracleProcess, rng: np.random.Generator) -> None:
    weights, x = draw_weights(rng), draw_input(rng)
    # The last position attends to all, so a wrong mask is not deducted here.
    found = output(student, weights, x)[:, -1]

    def gap(mistake: str) -> float:
        expected = oracle.ask("head", {"weights": weights, "x": x, "mistake": mistake})[:, -1]
        return float(np.abs(found - expected).max())

    if gap("") > TOLERANCE:
        seen = f"With weights set by the grader, the output at the last position is off by {gap(''):.2g}."
        if gap("scale_missing") <= TOLERANCE:
            raise Partial(seen, causes=[MISTAKES["scale_missing"]])
        raise Failed(seen, "Is the softmax over the key axis (dim=-1)?")
