"""What the tests share: one zygote for the whole session, and grading with it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from autograder import rubric, submission, suite
from autograder.report import Report
from autograder.sandbox.confine import Limits
from autograder.sandbox.process import Zygote

ROOT = Path(__file__).resolve().parent.parent


@pytest.fixture(scope="session")
def zygote() -> Iterator[Zygote]:
    # Shorter limits than in grading: what loops for ever does so in three seconds too.
    with Zygote(Limits(call_cpu=3.0, again_cpu=0.5)) as zygote:
        yield zygote


@pytest.fixture(scope="session")
def weaker() -> Iterator[Callable[..., Zygote]]:
    """A zygote without some layers of confinement: ``weaker("landlock", "uid")``; without none, one with all."""
    started: dict[frozenset[str], Zygote] = {}

    def weaker(*without: str) -> Zygote:
        key = frozenset(without)
        if key not in started:
            started[key] = stack.enter_context(Zygote(Limits(call_cpu=10.0), sorted(key)))
        return started[key]

    with ExitStack() as stack:
        yield weaker


@pytest.fixture(scope="session")
def grade(zygote: Zygote) -> Callable[..., Report]:
    """Grade a path: ``grade(path, secret=..., only=...)``."""
    rows = rubric.load()

    def grade(path: Path, **options: object) -> Report:
        return suite.grade(submission.read(path), zygote, rows, **options)  # type: ignore[arg-type]

    return grade
