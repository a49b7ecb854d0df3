"""What the tests share: one zygote for the whole session, and grading with it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from autograder import rubric, submission, suite
from autograder.report import Report
from autograder.sandbox.confine import Limits
from autograder.sandbox.process import Zygote
from tests.course_kit import Course

ROOT = Path(__file__).resolve().parent.parent


@pytest.fixture(scope="session")
def zygote() -> Iterator[Zygote]:
    # Shorter limits than in grading: what loops for ever does so in three seconds too.
    with Zygote(Limits(call_cpu=3.0, again_cpu=0.5)) as zygote:
        yield zygote


@pytest.fixture(scope="session")
def grade(zygote: Zygote) -> Callable[..., Report]:
    """Grade a path: ``grade(path, secret=..., only=...)``."""
    rows = rubric.load()

    def grade(path: Path, **options: object) -> Report:
        return suite.grade(submission.read(path), zygote, rows, **options)  # type: ignore[arg-type]

    return grade


@pytest.fixture
def course(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Course:
    """Submissions and a gradebook, graded without torch."""
    return Course(tmp_path, monkeypatch, capsys)
