"""Test that a second assignment runs through the whole engine, which therefore knows nothing about the first."""

from __future__ import annotations

import csv
import json
import os
import subprocess
import sys
import zipfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from autograder.grading import rubric, suite
from autograder.grading.report import Report
from autograder.lms import package_files, run
from autograder.sandbox.remote.client import Zygote
from autograder.submission.read import read_submission
from autograder.workbench.notebook_check import check
from tests import notebooks
from tests.conftest import ROOT
from tests.head_assignment import ASSIGNMENT
from tests.test_cli import command, one_line
from tests.validators import gradescope as gradescope_validator

NAME = "tests.head_assignment"
SOLUTION = ROOT / "tests" / "head_solution.py"
RIGHT = SOLUTION.read_text("utf-8")
SCALED = " / math.sqrt(q.shape[-1])"
MASKED = '        scores = scores.masked_fill(~self.mask[:T, :T], float("-inf"))\n'
FORWARD = RIGHT.partition("        T = x.shape[1]\n")[0]  # up to the body of forward
Grade = Callable[[Path], Report]


def without(part: str, instead: str = "") -> str:
    """Return the solution with one part removed or replaced."""
    assert part in RIGHT
    return RIGHT.replace(part, instead)


def hand_in(folder: Path, text: str) -> Path:
    """Write a submission with this text as its main file."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "attention.py").write_text(text, "utf-8")
    return folder


@pytest.fixture
def grade(zygote: Zygote) -> Grade:
    rows = rubric.load(ASSIGNMENT)
    return lambda path: suite.grade(ASSIGNMENT, read_submission(path, ASSIGNMENT), zygote, rows)


def outcomes(report: Report) -> dict[str, str]:
    return {check.id: check.status for check in report.checks}


# --- verdicts ---------------------------------------------------------------------------------------------------------


def test_the_solution_gets_full_marks(grade: Grade) -> None:
    report = grade(SOLUTION)
    assert (report.assignment, report.score, report.max_score) == ("attention-head", 10, 10)
    assert list(outcomes(report)) == ["head.shape", "head.values", "causality.earlier_positions"]


@pytest.mark.parametrize(
    ("text", "check", "status", "mistake"),
    [
        (without(SCALED), "head.values", "partial", "scale_missing"),
        (without(MASKED), "causality.earlier_positions", "failed", "mask_missing"),
        (without("[:T, :T]"), "head.shape", "failed", "mask_not_sliced"),
    ],
)
def test_each_mistake_is_named_and_deducted_once(
    text: str, check: str, status: str, mistake: str, grade: Grade, tmp_path: Path
) -> None:
    report = grade(hand_in(tmp_path, text))
    assert {own: how for own, how in outcomes(report).items() if how != "passed"} == {check: status}
    (found,) = [verdict for verdict in report.checks if verdict.id == check]
    assert [cause.mistake for cause in found.diagnosis] == [mistake]


def test_the_stub_is_not_implemented(grade: Grade) -> None:
    report = grade(ASSIGNMENT.stubs)
    assert (report.score, set(outcomes(report).values())) == (0, {"not_implemented"})
    assert [(entry.name, entry.file) for entry in report.not_implemented] == [("Head", "attention.py")]


ORACLE = ROOT / "tests" / "head_assignment" / "oracle.py"
HOSTILE = {
    "prints": "        print('{\"score\": 10}' * 1000)\n        return '10 / 10 points'\n",
    "raises": "        raise KeyboardInterrupt\n",
    "exits": "        import os\n        os._exit(0)\n",
    "loops": "        while True: pass\n",
    "imports": "        from tests.head_assignment.oracle import Operations\n        return Operations()\n",
    "reads": f"        return torch.ones(len(open({str(ORACLE)!r}).read()))\n",
}
STATUS = {"exits": "crashed", "loops": "timeout"}
REASON = {"imports": "ModuleNotFoundError", "reads": "PermissionError"}


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_code_fails_without_an_error_of_the_grader(name: str, grade: Grade, tmp_path: Path) -> None:
    report = grade(hand_in(tmp_path, FORWARD + HOSTILE[name]))
    assert (report.score, report.gradable) == (0, True)
    assert set(outcomes(report).values()) == {STATUS.get(name, "failed")}
    assert all(REASON.get(name, "") in check.message for check in report.checks)


# --- channels ---------------------------------------------------------------------------------------------------------


def test_the_command_grades_it() -> None:
    done = command("--assignment", NAME, "grade", str(SOLUTION), "--fail-under", "10")
    assert (done.returncode, done.stderr) == (0, "")
    assert "10 / 10 points" in done.stdout


def test_a_notebook_of_it_is_graded(grade: Grade, tmp_path: Path) -> None:
    report = grade(notebooks.save(tmp_path / "step-04.ipynb", "!pip install torch", *notebooks.cells_of(RIGHT), "1/0"))
    assert (report.submission.format, report.score) == ("notebook", 10)


def test_check_shows_one_criterion_of_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(hand_in(tmp_path, without(MASKED)))
    result = check("causality", assignment=NAME)
    assert (result.points, "mask" in repr(result)) == (0, True)


def test_regrade_keeps_scores_in_a_gradebook(tmp_path: Path) -> None:
    for student, text in {"ada": RIGHT, "bob": without(SCALED)}.items():
        hand_in(tmp_path / "in" / student, text)
    book, scores = tmp_path / "book", tmp_path / "scores.csv"
    done = command("--assignment", NAME, "regrade", str(tmp_path / "in"), "--out", str(book), "--workers", "1")
    assert done.returncode == 0, done.stderr
    done = command("--assignment", NAME, "export", "csv", "--to", str(scores), "--out", str(book))
    assert done.returncode == 0, done.stderr
    with scores.open(encoding="utf-8-sig") as file:
        assert [(row["name"], row["score"]) for row in csv.DictReader(file)] == [("ada", "10"), ("bob", "8")]


def test_gradescope_gets_its_results(tmp_path: Path) -> None:
    hand_in(tmp_path / "submission", without(MASKED))
    (tmp_path / "source").mkdir()
    (tmp_path / "source" / "secret").write_bytes(package_files.make_secret())
    assert run.run(ASSIGNMENT, "gradescope", tmp_path, None, None) == 0
    text = (tmp_path / "results" / "results.json").read_text("utf-8")
    assert gradescope_validator.problems(text) == []
    assert json.loads(text)["score"] == 6


def test_the_gradescope_package_grades_it_where_it_is_unpacked(tmp_path: Path) -> None:
    target, source = tmp_path / "made.zip", tmp_path / "source"
    done = command("--assignment", NAME, "package", "gradescope", "--out", str(target))
    assert done.returncode == 0, done.stderr
    assert gradescope_validator.package_problems(target.read_bytes()) == []
    with zipfile.ZipFile(target) as archive:
        archive.extractall(source)
        added = {name for name in archive.namelist() if name.startswith("tests/")}
    folder = ROOT / "tests" / "head_assignment"
    files = {str(path.relative_to(ROOT)) for kind in ("*.py", "*.toml") for path in folder.rglob(kind)}
    assert added == files | {"tests/__init__.py"}
    assert f"-m autograder --assignment {NAME} lms gradescope" in (source / "run_autograder").read_text("utf-8")
    arguments = ["--assignment", NAME, "grade", str(SOLUTION), "--fail-under", "10"]
    done = command(*arguments, cwd=source, PYTHONPATH="")
    assert (done.returncode, done.stderr) == (0, "")


def test_only_the_default_assignment_has_a_package_for_students(tmp_path: Path) -> None:
    done = command("--assignment", NAME, "package", "student", "--out", str(tmp_path / "made.zip"))
    assert done.returncode == 2
    assert str(ASSIGNMENT.stubs) in one_line(done.stderr)
    assert not list(tmp_path.iterdir())


def test_a_package_outside_the_project_is_refused(tmp_path: Path) -> None:
    with pytest.raises(package_files.PackError, match="move the assignment's package there"):
        package_files.collect_grader(replace(ASSIGNMENT, folder=tmp_path))


@pytest.mark.parametrize(("text", "passed"), [(RIGHT, 3), (without(MASKED), 2)])
def test_plain_pytest_runs_its_checks(text: str, passed: int, tmp_path: Path) -> None:
    clean = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")}
    submission = hand_in(tmp_path, text)
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", str(ASSIGNMENT.checks), "--submission", str(submission)],
        cwd=ROOT,
        env=clean,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == (passed < 3), done.stdout + done.stderr
    assert f"{passed} passed" in done.stdout


# --- the name of the package ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("nonsense", "no module named nonsense; give a package's name, such as autograder.assignment"),
        ("tests.nonsense", "no module named tests.nonsense"),
        ("tests/head_assignment", "not a package's name; give one with dots"),
        ("", "not a package's name"),
        ("json", "it defines no ASSIGNMENT; see docs/another-assignment.md"),
    ],
)
def test_a_package_that_is_not_an_assignment_is_refused(name: str, said: str) -> None:
    done = command("--assignment", name, "schema")
    assert (done.returncode, done.stdout) == (2, "")
    assert said in one_line(done.stderr)


def test_a_missing_import_of_an_assignment_is_not_taken_for_its_name(tmp_path: Path) -> None:
    (tmp_path / "broken_assignment.py").write_text("import numpi\n")
    done = command("--assignment", "broken_assignment", "schema", PYTHONPATH=f"{ROOT}{os.pathsep}{tmp_path}")
    assert done.returncode == 3
    assert "No module named 'numpi'" in one_line(done.stderr)


def test_help_lists_the_option_and_its_default() -> None:
    done = command("--help")
    assert (done.returncode, done.stderr) == (0, "")
    assert "Grade a PyTorch assignment." in done.stdout
    assert "the assignment's package" in done.stdout
