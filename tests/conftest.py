"""Fixtures that the tests share: one zygote for the session, grading with it, and small submissions."""

from __future__ import annotations

import importlib
import sys
import textwrap
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

from autograder.assignment import ASSIGNMENT
from autograder.core.assignment import Contract, Definition
from autograder.grading import rubric, suite
from autograder.grading.report import Report
from autograder.sandbox.isolation.confine import Limits
from autograder.sandbox.remote.client import Zygote
from autograder.sandbox.remote.student_code import StudentCode
from autograder.submission.read import read_submission
from tests.course_kit import Course

ROOT = Path(__file__).resolve().parent.parent
CONTRACT = Contract("gpt", tuple(Definition(name, "gpt", "", "") for name in ("GPT", "Block")), ("generate",))
Hand = Callable[..., StudentCode]
Limit = Callable[..., None]


@pytest.fixture(scope="session")
def zygote() -> Iterator[Zygote]:
    # Shorter limits than in grading: five seconds are enough to recognise an infinite loop. The bank's slowest correct
    # call takes 2.4 s, and more on a busy machine.
    with Zygote(Limits(call_cpu=5.0, again_cpu=0.5)) as zygote:
        yield zygote


@pytest.fixture(scope="session")
def weaker() -> Iterator[Callable[..., Zygote]]:
    """Return a zygote without some sandbox layers, such as ``weaker("landlock", "uid")``, or with all."""
    started: dict[frozenset[str], Zygote] = {}

    def weaker(*without: str) -> Zygote:
        key = frozenset(without)
        if key not in started:
            started[key] = stack.enter_context(Zygote(Limits(call_cpu=10.0), sorted(key)))
        return started[key]

    with ExitStack() as stack:
        yield weaker


@pytest.fixture(scope="module")
def ref() -> Iterator[SimpleNamespace]:
    """Yield the modules of reference/, then remove them from sys.modules, since a student's have the same names."""
    import torch

    names, folder = ("head", "gpt", "paper", "verify"), ROOT / "reference"
    threads = torch.get_num_threads()
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(folder))
        for name in names:
            patch.delitem(sys.modules, name, raising=False)
        modules: dict[str, ModuleType] = {name: importlib.import_module(name) for name in names}
        for name in names:
            del sys.modules[name]
        assert all(Path(module.__file__ or "").parent == folder for module in modules.values())
        torch.set_num_threads(1)
        yield SimpleNamespace(**modules)
        torch.set_num_threads(threads)


@pytest.fixture(scope="session")
def grade(zygote: Zygote) -> Callable[..., Report]:
    """Grade a path: ``grade(path, secret=..., only=...)``."""
    rows = rubric.load(ASSIGNMENT)

    def grade(path: Path, **options: object) -> Report:
        return suite.grade(ASSIGNMENT, read_submission(path, ASSIGNMENT), zygote, rows, **options)  # type: ignore[arg-type]

    return grade


@pytest.fixture
def hand_in(zygote: Zygote) -> Iterator[Hand]:
    """Create a submission from the text of gpt.py, and of other files by name: ``hand_in(text, head="...")``."""
    students = []

    def hand_in(text: str, **others: str) -> StudentCode:
        files = {f"{name}.py": textwrap.dedent(text).encode() for name, text in {"gpt": text, **others}.items()}
        students.append(StudentCode(zygote, files, CONTRACT))
        return students[-1]

    yield hand_in
    for student in students:
        student.close()


@pytest.fixture
def limit(zygote: Zygote, monkeypatch: pytest.MonkeyPatch) -> Limit:
    """Set different limits for one test: ``limit(call_cpu=0.2)``."""
    return lambda **limits: monkeypatch.setattr(zygote, "limits", replace(zygote.limits, **limits))


def run(student: StudentCode, *arguments: Any, name: str = "run") -> Any:
    """Return the value of a function of gpt.py."""
    return student.function(name, *arguments)


@pytest.fixture
def course(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Course:
    """Return submissions and a gradebook that are graded without torch."""
    return Course(tmp_path, monkeypatch, capsys)
