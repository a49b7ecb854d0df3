"""Both printed reports fit the console, say each thing once, and are plain where colour is unwanted."""

from __future__ import annotations

import io
import math
import re
from collections.abc import Callable
from typing import Any

import pytest
from rich.cells import cell_len
from rich.console import Console

from autograder.grading import report as reports
from autograder.grading.report import CriterionFacts, NotImplementedEntry, Report, Verdict
from autograder.render import listing, terminal
from autograder.render.terminal import Progress

Show = Callable[[Report, Console], None]
BOTH = pytest.mark.parametrize("show", [terminal.show, listing.show], ids=["screen", "listing"])
LONG = "The logits at position 21 moved by 0.31, though only later tokens were changed. " * 4
REASON = "gpt.py could not be imported: line 7: `import nothing`. ModuleNotFoundError."


def check(number: int, status: str, message: str = "", **more: Any) -> Verdict:
    score = {"passed": 2, "partial": 1}.get(status, 0)
    name = f"one.c{number}"
    return Verdict(
        id=name,
        criterion="one",
        title=f"title {number}",
        status=status,  # type: ignore[arg-type]
        score=score,
        max_score=2,
        message=message,
        **more,
    )


def report(
    *checks: Verdict, not_implemented: tuple[NotImplementedEntry, ...] = (), output: str = "", id: str = "ada"
) -> Report:
    score, max_score, bonus = reports.compute_totals(checks, set(), 2 * len(checks))
    return Report(
        assignment="x",
        submission=reports.SubmissionFacts(id=id, sha256="0" * 64, format="folder", files=("gpt.py",)),
        provenance=reports.Provenance(
            grader="0", rubric="0", seed_id="0", torch="0", python="3", platform="linux", sandbox=()
        ),
        score=score,
        max_score=max_score,
        bonus=bonus,
        gradable=all(check.status != "error" for check in checks),
        criteria=(CriterionFacts(id="one", title="First criterion", task="task 5.4 (1)", bonus=False),),
        checks=checks,
        not_implemented=not_implemented,
        output=output,
        timing=reports.Timing(wall=1, cpu=1, checks={}),
    )


def definitions(number: int) -> tuple[NotImplementedEntry, ...]:
    return tuple(
        NotImplementedEntry(
            name=f"Definition{n}", file="gpt.py", line=40 * n, task=f"task 5.{n}", description="what it does in words"
        )
        for n in range(1, number + 1)
    )


STUB = report(
    *(check(n, "not_implemented" if n % 3 else "blocked", f"GPT {n} is not implemented yet.") for n in range(30))
)
STUB = STUB.model_copy(update={"not_implemented": definitions(10)})
MATRIX = [[0.5 if s <= t else 0.01 * (s == t + 1) for s in range(64)] for t in range(64)]
EVERYTHING = report(
    check(0, "passed", "816,640, to the last one.", evidence={"parts": {"embeddings": 10, "block_norms": 20}}),
    check(1, "partial", LONG),
    check(2, "failed", LONG, evidence={"influence": MATRIX}),
    check(3, "failed", "x" * 300),
    check(4, "failed", "[red]not markup[/red] :smile: 漢字 " * 10),
    *(check(n, status, REASON) for n, status in enumerate(terminal.MARKS, 5)),
    not_implemented=definitions(3),
    output="printed\n" * 3,
    id="a-very-long-name-of-a-student-or-of-a-folder-" * 3,
)


def shown(report: Report, width: int = 80, show: Show = listing.show, **options: Any) -> str:
    """The list of all checks, or the first screen."""
    file = io.StringIO()
    show(report, Console(file=file, width=width, highlight=False, **options))
    return file.getvalue()


def screen(report: Report, width: int = 80, progress: Progress | None = None) -> str:
    return shown(report, width, lambda report, console: terminal.show(report, console, progress))


def visible(text: str) -> str:
    return re.sub(r"\x1b\[[0-9;]*m", "", text)


@BOTH
@pytest.mark.parametrize("width", [40, 80, 120])
@pytest.mark.parametrize("which", [STUB, EVERYTHING], ids=["stub", "everything"])
def test_no_line_is_longer_than_the_console_or_ends_in_blanks(which: Report, width: int, show: Show) -> None:
    plain = shown(which, width, show).splitlines()
    coloured = visible(shown(which, width, show, force_terminal=True, color_system="standard")).splitlines()
    assert len(plain) > 7
    assert show is listing.show or len(plain) <= terminal.HEIGHT
    assert [line.rstrip() for line in coloured] == plain
    for line in plain:
        assert cell_len(line) <= min(width, listing.WIDTH), line
        assert line == line.rstrip()


@pytest.mark.parametrize("length", range(40, 70))
def test_points_stand_apart_from_the_title(length: int) -> None:
    long = check(1, "not_implemented").model_copy(update={"title": "t" * length})
    text = shown(report(long, check(2, "passed")), 80)
    assert re.search(r"\S  *0 / 2$", text, re.MULTILINE)


@BOTH
def test_what_is_no_terminal_gets_no_escapes(show: Show) -> None:
    assert "\x1b" not in shown(EVERYTHING, show=show)
    assert "\x1b[" in shown(EVERYTHING, show=show, force_terminal=True, color_system="standard")


@BOTH
def test_no_color_is_respected(show: Show, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    codes = re.findall(r"\x1b\[([0-9;]*)m", shown(EVERYTHING, show=show, force_terminal=True, color_system="truecolor"))
    assert not [code for code in codes for part in code.split(";") if len(part) == 2]


@pytest.mark.parametrize("encoding", ["ascii", "cp1252", "latin-1"])
def test_a_console_that_is_not_utf_8_gets_signs_it_can_print(encoding: str) -> None:
    raw = io.BytesIO()
    with io.TextIOWrapper(raw, encoding=encoding) as file:
        for show in (terminal.show, listing.show):
            show(EVERYTHING, Console(file=file, width=100))
        file.flush()
        text = raw.getvalue().decode(encoding)
    for _, ascii_sign, _ in terminal.MARKS.values():
        assert ascii_sign == "skip" or re.search(rf"^  {ascii_sign} title", text, re.MULTILINE)


def test_a_utf_8_console_gets_a_sign_for_each_status() -> None:
    text = shown(EVERYTHING)
    for status, (sign, _, _) in terminal.MARKS.items():
        assert status == "skipped" or f"  {sign} title" in text


def test_text_of_a_student_is_neither_markup_nor_an_emoji() -> None:
    assert "[red]not markup[/red] :smile: 漢字" in shown(EVERYTHING)


def test_points_stand_beside_what_they_are_for() -> None:
    text = shown(report(check(1, "passed"), check(2, "partial", "Half."), check(3, "failed", "None.")))
    assert re.search(r"^ada +3 / 6 points$", text, re.MULTILINE)
    assert re.search(r"^First criterion  task 5\.4 \(1\) +3 / 6$", text, re.MULTILINE)
    assert re.search(r"title 2 +1 / 2\n    Half\.$", text, re.MULTILINE)


def test_a_repeated_message_is_printed_once_and_then_referred_to() -> None:
    text = shown(report(check(1, "failed", REASON), check(2, "crashed", REASON), check(3, "failed", REASON)), 160)
    assert text.count("import nothing") == 1
    assert text.count("title 1") == 3


def test_the_stub_gets_first_steps_instead_of_a_list_of_failures() -> None:
    for width in (80, 120):
        text = screen(STUB, width)
        places = [text.index(f"gpt.py:{40 * n}") for n in range(1, 11)]
        assert places == sorted(places)
        assert "Start with Definition1 (gpt.py:40)" in text
        assert "title" not in text


def test_what_comes_next_is_named_only_if_nothing_fails() -> None:
    waiting = check(2, "not_implemented", "Definition1 is not implemented yet.")
    begun = report(check(1, "passed"), waiting, not_implemented=definitions(3))
    assert "Next: Definition1 (task 5.1), gpt.py:40: what it does in words." in " ".join(screen(begun).split())
    failing = report(check(1, "failed", REASON), waiting, not_implemented=definitions(3))
    assert "Next" not in screen(failing)
    assert "Fix first" in screen(failing)


@pytest.mark.parametrize("status", ["not_implemented", "blocked", "skipped"])
def test_a_report_with_nothing_passed_and_nothing_left_to_write_is_printed_too(status: str) -> None:
    assert "0 / " in shown(report(check(1, status, "You have not got this far.")))


def test_what_was_not_asked_for_is_left_out() -> None:
    text = shown(report(check(1, "passed"), check(2, "skipped", "not selected in this run")))
    assert "title 2" not in text
    assert "2 / 2 points" in text
    assert "2 / 2 points" in screen(report(check(1, "passed"), check(2, "skipped")))


def test_printed_output_is_counted_and_not_shown() -> None:
    text = shown(report(check(1, "passed"), output="SECRET\x1b[2J\nline 2\n"))
    assert "printed by your code during grading: 2 " in text
    assert "SECRET" not in text


def test_a_failure_of_the_grader_is_said_to_be_no_grade() -> None:
    failed = report(check(1, "error", "The grader failed here: KeyError"), check(2, "passed"))
    assert "no grade" in shown(failed)
    assert "no grade" in screen(failed)


def test_a_leak_of_one_diagonal_is_seen_in_the_picture() -> None:
    text = shown(report(check(1, "failed", "Leak.", evidence={"influence": MATRIX})))
    rows = [line for line in text.splitlines() if line.strip() and not set(line) - set(f"{listing.SHADES}x")]
    assert len(rows) == 16
    picture = [[row.ljust(40)[4 + 2 * s] for s in range(16)] for row in rows]
    assert all(picture[t][t] == "x" for t in range(16))
    assert all(picture[t][t + 1] == "x" for t in range(15))
    assert all(picture[t][s] == " " for t in range(16) for s in range(t + 2, 16))


def test_figures_that_are_not_finite_are_drawn_too() -> None:
    matrix = [[0.5, math.inf], [math.nan, 0.5]]
    text = shown(report(check(1, "failed", "Leak.", evidence={"influence": matrix})))
    assert "##x" in text
    losses = {"random targets": math.inf, "ln 65": 4.174}
    assert "inf" in shown(report(check(1, "passed", "", evidence={"losses": losses})))


def test_what_waits_for_the_same_definition_says_so_once() -> None:
    waiting = "GPT.__init__ is not implemented yet."
    page = shown(report(check(1, "passed"), check(2, "not_implemented", waiting), check(3, "not_implemented", waiting)))
    assert page.count("not implemented yet") == 1
    assert page.count("(not implemented)") == 2
    assert "same reason" not in page


def test_an_influence_that_is_not_finite_is_drawn() -> None:
    drawn = listing._draw_influence([[float("inf"), float("nan")], [1.0, float("inf")]]).plain
    assert len(drawn.splitlines()) == 3
