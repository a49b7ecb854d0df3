"""Test that a killed grader leaves no process and no partial file behind."""

from __future__ import annotations

from tests import kill


def test_a_killed_grader_leaves_nothing() -> None:
    # A zygote notices the kill only after loading torch, which takes long on a busy machine.
    assert kill.run(count=5, seed=1, longest=4.0, patience=60.0) == []
