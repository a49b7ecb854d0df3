"""Test that a parser accepts only replies of the expected kind: no bool or array as a number, nothing too large."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from autograder.assignment.measure import outputs
from autograder.sandbox.remote import replies
from autograder.sandbox.remote.errors import Crashed
from autograder.sandbox.remote.wire import MAX_BODY, Opaque
from tests.conftest import Hand

NAN, INFINITE = float("nan"), float("inf")


def claim(*shapes: Any, names: Any = None) -> dict[str, Any]:
    listed = {"names": names or [f"w{i}" for i in range(len(shapes))], "shapes": list(shapes)}
    return {"parameters": listed | {"frozen": [], "masks": [], "owners": {}}, "methods": [], "module": True}


def test_parameters_without_axes_are_kept_and_those_without_entries_are_not() -> None:
    parameters, _, _ = replies.parse_build(claim([], [3], [0], [3, 0], [0, 1 << 20]))
    assert [(p.name, p.shape, p.size) for p in parameters] == [("w0", (), 1), ("w1", (3,), 3)]


@pytest.mark.parametrize(
    "shape", [[1 << 32], [1 << 16, 1 << 16], [0, (1 << 62) - 1], [0, 1 << 20, 1 << 20], [True], [2.0], [-1], [1] * 9, 3]
)
def test_a_shape_that_no_check_can_handle_is_refused(shape: Any) -> None:
    with pytest.raises((TypeError, ValueError)):
        replies.parse_build(claim(shape))


def test_two_parameters_of_one_name_are_refused() -> None:
    with pytest.raises(ValueError, match="one name"):
        replies.parse_build(claim([3], [], names=["w", "w"]))


@pytest.mark.parametrize("value", [7, 7.0, np.array(7), np.array([[7.0]]), np.float32([7])])
def test_a_number_may_be_an_array_of_one_element(value: Any) -> None:
    assert outputs.as_number(value) == 7.0


@pytest.mark.parametrize(
    "value", [True, None, "7", 1e16, -(10**400), NAN, INFINITE, np.zeros(2), np.array(NAN), [7], Opaque("x")]
)
def test_what_is_no_number_to_calculate_with_is_none(value: Any) -> None:
    assert outputs.as_number(value) is None


@pytest.mark.parametrize(
    "answer",
    [
        NAN,
        -INFINITE,
        10**400,
        np.zeros((0, 3)),
        np.array([-(1 << 63)]),
        np.array([1.0, NAN]),
        np.float32([3e38, 3e38]),
        {"a": [1, (NAN,)]},
        {1e300: 1},
        [Opaque("complex")],
    ],
)
def test_an_odd_answer_is_seen_at_any_depth(answer: Any) -> None:
    assert replies.has_odd_value(answer)


@pytest.mark.parametrize(
    "answer", [None, 4.17, True, "inf", np.zeros((2, 7, 65), np.float32), np.arange(9), {"loss": (1, [np.ones(3)])}]
)
def test_what_right_submissions_answer_is_not_odd(answer: Any) -> None:
    assert not replies.has_odd_value(answer)


def test_a_submission_too_large_to_be_sent_is_not_an_error_of_the_grader(hand_in: Hand) -> None:
    student = hand_in("x = 1", paper="#" * (MAX_BODY + 1))
    for _ in range(2):
        with pytest.raises(Crashed, match="could not be sent"):
            student.defines("GPT")
