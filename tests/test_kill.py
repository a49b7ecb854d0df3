"""A grader that is killed takes all its processes along, and leaves no half of a file."""

from __future__ import annotations

from tests import kill


def test_a_killed_grader_leaves_nothing() -> None:
    # A zygote that is loading torch hears of it only afterwards, and a busy machine takes its time for that.
    assert kill.run(count=5, seed=1, longest=4.0, patience=60.0) == []
