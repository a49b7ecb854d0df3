"""Fixtures for submissions that attack single sandbox layers, and for their targets."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator
from pathlib import Path

import pytest

from autograder.core.assignment import Contract
from autograder.sandbox.remote.student_code import StudentCode
from tests.confine.kit import TRY, Hand, Weaker


@pytest.fixture
def hand_in(weaker: Weaker) -> Iterator[Hand]:
    """Create a submission, confined by all layers or ``without`` some: ``hand_in(text, without=["seccomp"])``."""
    students = []

    def hand_in(text: str = "", without: tuple[str, ...] = ()) -> StudentCode:
        files = {"gpt.py": (TRY + textwrap.dedent(text)).encode()}
        students.append(StudentCode(weaker(*without), files, Contract(main="gpt")))
        return students[-1]

    yield hand_in
    for student in students:
        student.close()


@pytest.fixture
def secret(tmp_path: Path) -> Path:
    """Create a file that anyone could read without Landlock."""
    path = tmp_path / "secret.txt"
    path.write_text("secret")
    return path
