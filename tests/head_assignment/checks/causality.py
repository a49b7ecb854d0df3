"""The mask: no position depends on a later one."""

from __future__ import annotations

import numpy as np
import pytest

from autograder.grading.verdict import Failed
from autograder.sandbox.remote.oracle_process import OracleProcess
from autograder.sandbox.remote.student_code import StudentCode
from tests.head_assignment.measure import SIZES, TOLERANCE, draw_input, draw_weights, output
from tests.head_assignment.mistakes import MISTAKES

pytestmark = pytest.mark.needs("Head")


def test_earlier_positions(student: StudentCode, oracle: OracleProcess, rng: np.random.Generator) -> None:
    weights, x = draw_weights(rng), draw_input(rng)
    t = int(rng.integers(1, SIZES["T_max"]))
    changed = x.copy()
    changed[:, t] += 1
    # Each side runs in its own process, so that neither can remember the other's call.
    before, after = output(student.replica, weights, x), output(student, weights, changed)
    affected = np.abs(after - before).max((0, 2)) > TOLERANCE
    if not affected[t]:
        raise Failed(f"Replacing x at position {t} left the output there unchanged.", "Is x used in forward?")
    if affected[:t].any():
        unmasked = oracle.ask("head", {"weights": weights, "x": x, "mistake": "mask_missing"})
        causes = [MISTAKES["mask_missing"]] if np.abs(before - unmasked).max() <= TOLERANCE else []
        raise Failed(f"Replacing x at position {t} changed the output at position {affected.argmax()}.", causes=causes)
