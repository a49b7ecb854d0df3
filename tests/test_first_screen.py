"""The first screen of a report names one cause to fix, at file and line, for the states in which students are."""

from __future__ import annotations

import io
from collections.abc import Callable
from pathlib import Path

import pytest
from rich.cells import cell_len
from rich.console import Console

from autograder.grading.causes import find_causes
from autograder.grading.report import Report
from autograder.render import terminal
from tests.states import STATES

ROWS, COLUMNS = 24, 96


def screen(report: Report, width: int = COLUMNS, encoding: str = "utf-8") -> list[str]:
    raw = io.BytesIO()
    with io.TextIOWrapper(raw, encoding=encoding) as file:
        terminal.show(report, Console(file=file, width=width, highlight=False))
        file.flush()
        return raw.getvalue().decode(encoding).splitlines()


@pytest.mark.parametrize("name", STATES)
def test_the_first_screen_sends_the_student_to_one_place(
    name: str, grade: Callable[..., Report], tmp_path: Path
) -> None:
    state = STATES[name]
    report = grade(state.write(tmp_path))
    for width, encoding in ((COLUMNS, "utf-8"), (60, "utf-8"), (COLUMNS, "ascii")):
        lines = screen(report, width, encoding)
        assert len(lines) <= ROWS, "\n".join(lines)
        assert not [line for line in lines if cell_len(line) > width]
    lines = screen(report)
    text = "\n".join(lines)
    assert f"{report.score:g} / 100 points" in (lines[0] if name == "nothing" else lines[-1])
    failing = [cause for cause in find_causes(report) if not cause.is_undone]
    assert ("Fix first: " in text) == bool(failing), text
    assert "Next: " not in text or not failing
    if not failing:
        assert not state.where, text
        return
    first = failing[0]
    assert first.location is not None, first.main.message
    assert first.location.place in text
    assert state.where in ("", first.location.where), f"{first.location}\n{text}"
    assert state.line in first.location.text, f"{first.location}\n{text}"
    if first.location.line:  # no line is invented
        assert first.location.text in (tmp_path / first.location.file).read_text("utf-8").split("\n")
    # A cause is printed once: no other cause is about the same line and exception.
    crashes = [
        (cause.location.place, cause.location.raised) for cause in failing if cause.location and cause.location.raised
    ]
    assert len(set(crashes)) == len(crashes), text


@pytest.mark.parametrize("name", ["mask without diagonal", "mask of NaN"])
def test_nan_has_one_cause_wherever_it_goes(name: str, grade: Callable[..., Report], tmp_path: Path) -> None:
    report = grade(STATES[name].write(tmp_path))
    (cause,) = find_causes(report)
    assert {"attention", "causality", "bonus"} <= {check.criterion for check in cause.checks}


def test_the_states_are_many() -> None:
    assert len(STATES) >= 40


def test_a_term_is_named_only_after_a_second_attempt(grade: Callable[..., Report], tmp_path: Path) -> None:
    report = grade(STATES["no bias in the attention"].write(tmp_path), only="parameter_count")
    first = "\n".join(screen(report))
    assert "attention" in first
    assert "bias" not in first
    assert "bias" not in report.checks[[check.id for check in report.checks].index("parameters.formula")].message
    file = io.StringIO()
    console = Console(file=file, width=COLUMNS, highlight=False)
    terminal.show(report, console, terminal.Progress(hints={"parameters"}))
    assert "The biases of this part are not counted." in " ".join(file.getvalue().split())


def test_a_raise_that_is_never_reached_costs_nothing_and_is_named(grade: Callable[..., Report], tmp_path: Path) -> None:
    report = grade(STATES["stray raise"].write(tmp_path))
    assert report.score == 100
    text = (tmp_path / "gpt.py").read_text("utf-8")
    line = text[: text.rindex("    raise NotImplementedError")].count("\n") + 1
    assert report.warnings == (f"gpt.py:{line}: this raise comes after a return, so it is never reached; delete it.",)


def test_once_everything_passes_what_is_left_is_listed(grade: Callable[..., Report], tmp_path: Path) -> None:
    report = grade(STATES["everything right"].write(tmp_path))
    file = io.StringIO()
    progress = terminal.Progress(left=("answers.md: question 2 is empty (5 points)",), next_step="make submit")
    terminal.show(report, Console(file=file, width=COLUMNS), progress)
    assert "Left:\n   answers.md: question 2 is empty (5 points)\n" in file.getvalue()
    assert "Then: make submit" in file.getvalue()
    assert "Next" not in file.getvalue()
