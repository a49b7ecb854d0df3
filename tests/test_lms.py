"""Test that platforms' files are always valid, show nothing hidden, and never turn a grader failure into a zero."""

from __future__ import annotations

import json
import stat
import sys
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any
from xml.etree import ElementTree as ET

import pytest

from autograder import lms
from autograder.assignment import ASSIGNMENT
from autograder.grading import rubric, suite
from autograder.grading.report import Report, Verdict
from autograder.grading.rubric import Criterion
from autograder.grading.secret import identify
from autograder.lms import Paths, package_files, run
from autograder.sandbox.remote.client import Zygote
from autograder.submission.read import read_submission
from tests import bank_file, test_terminal
from tests.conftest import ROOT
from tests.test_cli import command, one_line
from tests.validators import gradescope as gradescope_validator

NAMES = lms.PLATFORMS
HOSTILE = (
    "<script>alert(1)</script> \x1b[2J \u202egro\x00\x07 **x** [a](javascript:0) ]]> &amp; \ufffe \u2028 漢 "
    + "A" * 9000
)
VALUE = "0.31415"  # a measured value, which a hidden check must not reveal


def validator(name: str) -> ModuleType:
    return import_module(f"tests.validators.{name}")


def verdict(number: int, status: str, message: str = "", **more: Any) -> Verdict:
    return test_terminal.check(number, status, message, **more)


HIDING = test_terminal.report(
    verdict(0, "passed", "Shown."),
    verdict(1, "failed", f"off by {VALUE}", visibility="hidden", evidence={"seen": VALUE}),
    verdict(2, "partial", f"off by {VALUE}", visibility="after_due_date"),
    verdict(3, "passed", f"off by {VALUE}", visibility="hidden"),
)
REPORTS: dict[str, Report] = {
    "stub": test_terminal.STUB,
    "every status but error": test_terminal.report(
        *(verdict(n, s, "Seen.") for n, s in enumerate(test_terminal.terminal.MARKS) if s not in ("error", "skipped"))
    ),
    "hostile": test_terminal.report(
        *(verdict(n, s, HOSTILE) for n, s in enumerate(("passed", "failed", "crashed", "timeout"))),
        id=HOSTILE,
        output=HOSTILE * 3,
        not_implemented=test_terminal.definitions(2),
    ).model_copy(update={"warnings": (HOSTILE,)}),
    "hiding": HIDING,
    "half points": test_terminal.report(verdict(1, "partial")),
}


def place_of(name: str, root: Path) -> Paths:
    place = lms.get(name).paths(root)
    place.submission.mkdir(parents=True, exist_ok=True)
    if place.secret is not None:
        place.secret.parent.mkdir(parents=True, exist_ok=True)
        place.secret.write_bytes(package_files.make_secret())
    return place


# --- files ------------------------------------------------------------------------------------------------------------


def test_each_platform_has_a_validator_and_all_that_a_platform_offers() -> None:
    assert NAMES == ("gradescope", "junit", "prairielearn")
    for name in NAMES:
        assert callable(validator(name).problems)
        offered = [n for n in vars(lms.Platform) if not n.startswith("_")] + list(lms.Platform.__annotations__)
        assert not [what for what in offered if not hasattr(lms.get(name), what)]


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("which", REPORTS)
def test_a_report_becomes_a_valid_file(name: str, which: str, tmp_path: Path) -> None:
    text = lms.get(name).render_report(REPORTS[which], place_of(name, tmp_path))
    assert validator(name).problems(text) == []


@pytest.mark.parametrize(
    ("file", "criterion", "status"),
    [
        ("loop_in_mlp_init", "mlp", "timeout"),
        ("abort_in_mlp_forward", "mlp", "crashed"),
        ("syntax_error_in_block", "block", "failed"),
        ("import_raises", "mlp", "passed"),  # with a remark
    ],
)
def test_the_report_of_a_broken_submission_becomes_a_valid_file(
    file: str, criterion: str, status: str, grade: Callable[..., Report], tmp_path: Path
) -> None:
    broken = bank_file.load(bank_file.BANK / "broken" / f"{file}.py").write(tmp_path)
    report = grade(broken, only=criterion)
    assert status in {check.status for check in report.checks}
    # A run of one criterion is never exported; its verdicts are those of the whole run.
    report = report.model_copy(update={"checks": report.of(criterion)})
    for name in NAMES:
        text = lms.get(name).render_report(report, place_of(name, tmp_path / name))
        assert validator(name).problems(text) == []


@pytest.mark.parametrize("name", NAMES)
def test_nothing_that_came_from_a_submission_can_be_more_than_text(name: str, tmp_path: Path) -> None:
    text = lms.get(name).render_report(REPORTS["hostile"], place_of(name, tmp_path))
    assert len(text) < 40_000
    assert "A" * 2001 not in text
    for forbidden in ("\x1b", "\\u001b", "\x00", "\\u0000", "\u202e", "\\u202e", "\ufffe", "\\ufffe", "\\u2028"):
        assert forbidden not in text
    if name == "junit":
        assert "<script>" not in text


# --- hidden checks ----------------------------------------------------------------------------------------------------


def test_gradescope_shows_that_a_hidden_check_is_there_and_no_value_of_it(tmp_path: Path) -> None:
    data = json.loads(lms.get("gradescope").render_report(HIDING, place_of("gradescope", tmp_path)))
    shown = [test for test in data["tests"] if test.get("visibility", data["visibility"]) == "visible"]
    assert [test["number"] for test in shown] == ["1.1", "1.2", "1.3", "1.4"]  # every check is listed
    assert [("score" in test, "status" in test) for test in shown] == [(True, True)] + [(False, False)] * 3
    assert shown[1]["output"] == shown[3]["output"]  # one failed and one passed, indistinguishably
    assert VALUE not in json.dumps([shown, data["output"], data["extra_data"]])
    kept = [(test["visibility"], test["score"]) for test in data["tests"] if test not in shown]
    assert kept == [("hidden", 0), ("after_due_date", 1), ("hidden", 2)]
    assert data["score"] == sum(test.get("score", 0) for test in data["tests"]) == 5


def test_the_others_show_that_a_hidden_check_is_there_and_no_value_of_it(tmp_path: Path) -> None:
    text = lms.get("prairielearn").render_report(HIDING, place_of("prairielearn", tmp_path))
    first, *rest = json.loads(text)["tests"]
    assert (first["points"], first["max_points"]) == (2, 2)
    assert len(rest) == 3
    assert {(test["points"], test["max_points"], test["message"]) for test in rest} == {
        (0, 0, "This check counts; its result is not shown.")
    }
    assert json.loads(text)["score"] == 5 / 8
    xml = lms.get("junit").render_report(HIDING, place_of("junit", tmp_path))
    assert [child.tag for case in ET.fromstring(xml).iter("testcase") for child in case] == ["properties"] + [
        "skipped"
    ] * 3
    assert VALUE not in text + xml


@pytest.mark.parametrize("own", [None, "visible"])
def test_the_rubric_decides_what_is_hidden(own: str | None, zygote: Zygote, tmp_path: Path) -> None:
    rows = rubric.load(ASSIGNMENT)
    mlp = next(criterion for criterion in rows.criteria if criterion.id == "mlp")
    hidden = [check.model_copy(update={"visibility": "hidden"}) for check in mlp.checks]
    if own:
        hidden[0] = hidden[0].model_copy(update={"visibility": own})
    changed = mlp.model_copy(update={"checks": tuple(hidden)})
    criteria: list[Criterion] = [changed if criterion is mlp else criterion for criterion in rows.criteria]
    rows = rows.model_copy(update={"criteria": tuple(criteria)})
    report = suite.grade(ASSIGNMENT, read_submission(ROOT / "reference", ASSIGNMENT), zygote, rows, only="mlp")
    assert [check.visibility for check in report.of("mlp")] == [own or "hidden", "hidden", "hidden"]
    assert {check.visibility for check in report.checks if check.criterion != "mlp"} == {"visible"}


# --- what cannot be graded --------------------------------------------------------------------------------------------


HANDED_IN = {
    "nothing": ({}, "no Python file at all"),
    "another name": ({"my_gpt.py": "class GPT: pass\n"}, "only my_gpt.py; put your classes in a file named gpt.py"),
    "a notebook": ({"step-05.ipynb": "{}"}, "step-05.ipynb: no cells in it; open it in Jupyter"),
    "an empty file": ({"gpt.py": ""}, "gpt.py: empty"),
}


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("what", HANDED_IN)
def test_what_cannot_be_graded_is_told_to_the_student(
    name: str, what: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    files, said = HANDED_IN[what]
    place = place_of(name, tmp_path)
    for file, text in files.items():
        (place.submission / file).write_text(text)
    assert run.run(ASSIGNMENT, name, tmp_path, None, None) == 0
    text = place.result.read_text("utf-8")
    assert validator(name).problems(text) == []
    assert said in text
    assert str(tmp_path) not in text  # students know their files, not the platform's folders
    assert said in capsys.readouterr().out  # and so do staff
    if name == "prairielearn":
        assert json.loads(text)["gradable"] is False  # so no attempt is used up
    if name == "gradescope":
        assert json.loads(text)["score"] == 0


def no_grade(name: str, place: Paths, status: int) -> None:
    """The result says in the platform's own way that there is no grade; nothing looks like a zero."""
    if name == "gradescope":
        assert (status, place.result.exists()) == (3, False)
        return
    text = place.result.read_text("utf-8")
    assert validator(name).problems(text) == []
    if name == "prairielearn":
        assert status == 0
        assert (json.loads(text)["gradable"], json.loads(text).get("score")) == (False, None)
        assert "no attempt is used up" in text
    else:
        assert status == 3
        assert ET.fromstring(text).find(".//error") is not None
        assert ET.fromstring(text).find(".//failure") is None


@pytest.mark.parametrize("name", ["gradescope", "prairielearn"])
def test_a_package_without_its_secret_gives_no_grade(
    name: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    place = place_of(name, tmp_path)
    (place.submission / "gpt.py").write_text("class GPT: pass\n")
    assert place.secret
    place.secret.unlink()
    place.result.parent.mkdir(parents=True)
    place.result.write_text('{"score": 100}')  # an old file must not pass for this run's result
    no_grade(name, place, run.run(ASSIGNMENT, name, tmp_path, None, None))
    printed = capfd.readouterr()
    assert "No grade" in printed.out
    assert "secret" in one_line(printed.err)


@pytest.mark.parametrize("name", NAMES)
def test_a_grader_that_takes_too_long_or_dies_gives_no_grade(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    place = place_of(name, tmp_path)
    (place.submission / "gpt.py").write_text("class GPT: pass\n")
    monkeypatch.setattr(run, "DEADLINE", 0.05)
    no_grade(name, place, run.run(ASSIGNMENT, name, tmp_path, None, None))
    assert "did not finish within 0.05 s" in capfd.readouterr().out
    monkeypatch.setattr(run, "DEADLINE", 60)
    monkeypatch.setattr(sys, "executable", str(tmp_path / "python"))
    (tmp_path / "python").write_text("#!/bin/sh\nkill -9 $$\n")
    (tmp_path / "python").chmod(0o755)
    no_grade(name, place, run.run(ASSIGNMENT, name, tmp_path, None, None))
    assert "killed by signal 9" in capfd.readouterr().out


@pytest.mark.parametrize("name", NAMES)
def test_an_error_at_one_check_is_no_grade_for_all(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    report = test_terminal.report(verdict(0, "passed"), verdict(1, "error", "The grader failed here: KeyError"))
    place = place_of(name, tmp_path)
    (place.submission / "gpt.py").write_text("class GPT: pass\n")
    (tmp_path / "report.json").write_text(report.to_json())
    fake = tmp_path / "python"
    fake.write_text(f'#!/bin/sh\nwhile [ "$1" != --json ]; do shift; done\ncp {tmp_path}/report.json "$2"\nexit 3\n')
    fake.chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(fake))
    no_grade(name, place, run.run(ASSIGNMENT, name, tmp_path, None, None))


def test_the_secret_can_be_read_by_its_owner_alone_and_is_told_to_the_grading(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = place_of("gradescope", tmp_path)
    assert place.secret
    place.secret.chmod(0o644)
    (place.submission / "gpt.py").write_text("class GPT: pass\n")
    monkeypatch.setattr(sys, "executable", str(tmp_path / "python"))
    (tmp_path / "python").write_text(f'#!/bin/sh\nprintf "%s\\n" "$@" > {tmp_path}/arguments\n')
    (tmp_path / "python").chmod(0o755)
    run.run(ASSIGNMENT, "gradescope", tmp_path, None, None)
    assert stat.S_IMODE(place.secret.stat().st_mode) == 0o600
    arguments = (tmp_path / "arguments").read_text().splitlines()
    assert arguments[arguments.index("--secret-file") + 1] == str(place.secret)
    assert place.secret.read_text().strip() not in arguments  # every user can read a command line


# --- a whole grading --------------------------------------------------------------------------------------------------


def test_a_grading_on_gradescope_gives_the_score_and_the_grader_s_own_record(tmp_path: Path) -> None:
    place = place_of("gradescope", tmp_path)
    for file in ("gpt.py", "paper.py", "verify.py"):
        (place.submission / file).write_bytes((ROOT / "reference" / file).read_bytes())
    (place.submission / "gpt.py").open("a").write("\nprint('for the staff')\n")
    done = command("lms", "gradescope", "--root", str(tmp_path), cwd=place.submission)
    assert (done.returncode, done.stderr) == (0, "")
    text = place.result.read_text("utf-8")
    assert gradescope_validator.problems(text) == []
    data, rows = json.loads(text), rubric.load(ASSIGNMENT)
    assert data["score"] == rows.total + 6  # the bonus is extra credit
    assert len(data["tests"]) == len(rows.checks)
    assert "  printed: for the staff" in done.stdout
    assert "for the staff" not in text
    assert place.secret
    assert place.secret.read_text().strip() not in text + done.stdout
    secret = place.secret.read_bytes().strip()
    assert data["extra_data"]["seed_id"] == identify(secret)


METADATA = {
    "id": 123456,
    "created_at": "2026-10-02T00:30:00.000000-07:00",
    "assignment": {"due_date": "2026-10-02T00:00:00.000000-07:00", "late_due_date": None, "total_points": "100.0"},
    "previous_submissions": [
        {"submission_time": "2026-10-01T20:00:00-07:00", "score": 10.0, "autograder_error": False},
        {"submission_time": "2026-10-01T21:00:00-07:00", "score": 0.0, "autograder_error": True},
    ],
}


def test_lateness_and_attempts_come_from_gradescope_s_record_alone(tmp_path: Path) -> None:
    place = place_of("gradescope", tmp_path)
    (tmp_path / "submission_metadata.json").write_text(json.dumps(METADATA))
    for text in (lms.get("gradescope").render_report(HIDING, place), lms.get("gradescope").render_refusal("x", place)):
        facts = json.loads(text)["extra_data"]
        assert (facts["submission"], facts["attempt"], facts["seconds_late"]) == (123456, 2, 1800)


@pytest.mark.parametrize("bad", ["", "{", "[]", "{}", '{"id": 1, "created_at": 5}', '{"id": 1, "created_at": "soon"}'])
def test_a_record_that_is_not_as_gradescope_writes_it_changes_nothing(bad: str, tmp_path: Path) -> None:
    place = place_of("gradescope", tmp_path)
    without = lms.get("gradescope").render_report(HIDING, place)
    (tmp_path / "submission_metadata.json").write_text(bad)
    assert lms.get("gradescope").render_report(HIDING, place) == without
