"""The student bundle grades as the project does, reports changes between runs, and packs submissions."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from autograder import cli
from autograder.assignment import ASSIGNMENT
from autograder.core.errors import BadInput
from autograder.core.zip_writer import zip_entries
from autograder.grading.report import Report, compute_totals
from autograder.lms import package_files
from autograder.submission.read import read_submission
from autograder.workbench import history as runs
from autograder.workbench import pack
from reference.pictures import PICTURES
from tests.conftest import ROOT
from tests.test_cli import command, one_line

STUDENT = ROOT / "student"


@pytest.fixture(scope="module")
def bundle(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Unpack the bundle into a separate folder."""
    folder = tmp_path_factory.mktemp("unpacked")
    done = command("package", "student", "--out", str(folder / "student.zip"))
    assert (done.returncode, done.stderr) == (0, "")
    with zipfile.ZipFile(folder / "student.zip") as archive:
        archive.extractall(folder)
    return folder / "gpt-assembly"


def make(bundle: Path, *arguments: str) -> str:
    """Run ``make`` in the bundle with this Python's packages, without a download, and return its output."""
    clean = {
        k: v
        for k, v in os.environ.items()
        if not k.startswith(("PYTEST_", "AUTOGRADER_", "MAKE")) and k != "PYTHONPATH"
    }
    done = subprocess.run(
        ["make", *arguments, f"PYTHON={sys.executable}"],
        cwd=bundle, env=clean | {"TORCH_INDEX_URL": "", "COLUMNS": "80"}, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_the_bundle_has_the_assignment_and_the_grader_but_no_solutions(bundle):
    files = {str(path.relative_to(bundle)) for path in bundle.rglob("*") if path.is_file()}
    assert {name.split("/")[0] for name in files} == {
        *("student", "autograder", "requirements", "Makefile", "README.md", "LICENSE", "pyproject.toml")
    }
    named = {"README.html", "README.md", "answers.md", "gpt.py", "head.py", "paper.py", "step-05.ipynb", "verify.py"}
    named |= {f"pictures/{name}.svg" for name in PICTURES}
    assert {name for name in files if name.startswith("student/")} == {f"student/{name}" for name in named}
    for name in files:
        text = (bundle / name).read_text("utf-8")
        assert "BEGIN SOLUTION" not in text, name
        assert "Marking:" not in text
    assert zip_entries(package_files.collect_student(ASSIGNMENT)) == zip_entries(
        package_files.collect_student(ASSIGNMENT)
    )


def test_an_edited_student_folder_is_not_handed_out(tmp_path, monkeypatch):
    for name in ("student", "bundle", "requirements", "autograder"):
        shutil.copytree(ROOT / name, tmp_path / name, ignore=shutil.ignore_patterns("__pycache__"))
    (tmp_path / "reference").mkdir()
    for name in ("LICENSE", "pyproject.toml", "reference/derived.sha256"):
        shutil.copy(ROOT / name, tmp_path / name)
    monkeypatch.setattr(package_files, "ROOT", tmp_path)
    monkeypatch.setattr(package_files, "PACKAGE", tmp_path / "autograder")
    there = replace(ASSIGNMENT, folder=tmp_path / "autograder" / "assignment")
    assert "gpt-assembly/student/gpt.py" in package_files.collect_student(there)
    shutil.copy(ROOT / "reference" / "gpt.py", tmp_path / "student" / "gpt.py")
    with pytest.raises(package_files.PackError, match=r"student/gpt.py: edited.*git checkout student/gpt.py"):
        package_files.collect_student(there)


def test_make_grade_in_the_bundle_agrees_and_reports_changes(
    bundle: Path, grade: Callable[..., Report], tmp_path: Path
) -> None:
    assert "Start with parameter_count (paper.py:" in make(bundle, "grade")
    assert "Not implemented yet" in (bundle / "report.html").read_text("utf-8")
    wrong = (ROOT / "reference" / "gpt.py").read_text("utf-8").replace("F.gelu(", "F.relu(")
    (bundle / "student" / "gpt.py").write_text(wrong, "utf-8")
    report = tmp_path / "report.json"
    printed = make(bundle, "grade", f"ARGS=--json {report}")
    (tmp_path / "student").mkdir()
    for name in ("gpt.py", "head.py", "paper.py", "verify.py"):
        shutil.copy(bundle / "student" / name, tmp_path / "student")
    here = grade(tmp_path / "student")
    there = json.loads(report.read_text("utf-8"))
    same = json.loads(here.to_json())
    for block in ("checks", "score", "submission"):
        assert there[block] == same[block]
    assert 0 < here.score < 100
    assert there["provenance"]["seed_id"] == here.provenance.seed_id
    *_, last = printed.splitlines()
    assert last.startswith(f" {here.score:g} / 100 points + 6 bonus   +{here.score:g} since the last run")
    page = (bundle / "report.html").read_text("utf-8")
    assert "The activation is ReLU" in page
    assert "F.relu(self.up(x))" in re.sub("<[^>]+>", "", page)

    said = make(bundle, "submit").splitlines()
    assert said[0] == "submission.zip, ready to upload:"
    assert [line.split()[0] for line in said[1:6]] == ["gpt.py", "paper.py", "verify.py", "head.py", "answers.md"]
    assert said[6].endswith("left out: unchanged")
    assert said[7] == "To do in answers.md: questions 1, 2, 3 and 4 are empty (19 points, marked by hand)."
    assert said[8] == "To do in answers.md: question 5 is empty (optional, 5 points, marked by hand)."
    assert said[9].startswith(f"This code scored {here.score:g} of 100 points")
    assert said[10].startswith("Not implemented yet: parameter_count, ")
    assert read_submission(bundle / "submission.zip", ASSIGNMENT).sha256 == here.submission.sha256


def test_make_without_a_target_lists_the_commands(bundle):
    listed = make(bundle)
    assert [line.split()[1] for line in listed.splitlines() if line.startswith("make ")] == [
        *("help", "setup", "grade", "submit", "clean")
    ]


# --- what changed -----------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def full(grade: Callable[..., Report]) -> Report:
    return grade(ROOT / "reference")


def without(report: Report, *lost: str) -> Report:
    """Return ``report`` without the points of some checks (``causality.full_context``) or criteria."""
    checks = tuple(
        check.model_copy(update={"score": 0}) if {check.id, check.criterion} & {*lost} else check
        for check in report.checks
    )
    score, _, bonus = compute_totals(checks, {"bonus"}, 100)
    return report.model_copy(update={"checks": checks, "score": score, "bonus": bonus})


def test_what_changed_is_one_line(full: Report, tmp_path: Path) -> None:
    path, folder, rubric = tmp_path / "work", tmp_path / "new" / "folder", full.provenance.rubric

    def line(before: Report, after: Report) -> str:
        runs.save(folder, path, runs.History(rubric=rubric).add(before))
        return runs.load(folder, path, rubric).describe_change(after)

    assert runs.load(folder, path, rubric).describe_change(full) == ""
    plain = without(full, "bonus")
    lower = without(plain, "mlp", "causality.full_context")
    assert line(lower, lower) == "no change since the last run"
    assert line(lower, plain) == "+9 since the last run: mlp +7, causality +2"
    assert line(plain, lower) == "-9 since the last run: mlp -7, causality -2"
    assert line(without(plain, "mlp"), lower) == "-2 since the last run: causality"
    assert line(without(plain, "paper"), without(plain, "mlp")) == "-2 since the last run: paper +5, mlp -7"
    # The bonus stands beside the score.
    assert line(without(plain, "causality.full_context"), full) == "+2 since the last run: causality +2, bonus +6"
    assert line(plain, full) == "+0 since the last run: bonus +6"
    assert runs.load(folder, tmp_path / "other", rubric).whole is None


def test_a_part_is_compared_with_its_own_last_run(full: Report) -> None:
    lower = without(full, "mlp")
    skipped = {"status": "skipped", "score": 0}
    part = lower.model_copy(
        update={"checks": tuple(c if c.criterion == "mlp" else c.model_copy(update=skipped) for c in full.checks)}
    )
    history = runs.History(rubric=full.provenance.rubric).add(lower)
    assert history.describe_change(part) == "+7 since the last run"
    assert history.add(part).describe_change(part) == "no change since the last run"
    assert history.add(part).describe_change(lower) == "no change since the last run"  # of the last whole run


def test_hints_are_shown_after_another_attempt_without_progress(full: Report) -> None:
    def attempt(report: Report, sha256: str) -> Report:
        return report.model_copy(update={"submission": report.submission.model_copy(update={"sha256": sha256})})

    stuck = without(full, "paper")
    history = runs.History(rubric=full.provenance.rubric).add(attempt(stuck, "a"))
    assert "paper" not in history.stalled
    assert "paper" not in history.add(attempt(stuck, "a")).stalled  # the same code is no attempt
    assert "paper" in history.add(attempt(stuck, "b")).stalled
    assert "paper" not in history.add(attempt(stuck, "b")).add(attempt(full, "c")).stalled


def test_reports_under_different_rubrics_are_not_compared(full: Report, tmp_path: Path) -> None:
    runs.save(tmp_path, tmp_path, runs.History(rubric=full.provenance.rubric).add(full))
    assert runs.load(tmp_path, tmp_path, "other").describe_change(full) == ""


def test_an_unreadable_or_unwritable_history_is_ignored(full: Report, tmp_path: Path) -> None:
    history = runs.History(rubric=full.provenance.rubric).add(full)
    runs.save(tmp_path, tmp_path, history)
    (kept,) = tmp_path.glob("*.json")
    kept.write_text("{")
    assert runs.load(tmp_path, tmp_path, history.rubric).whole is None
    (tmp_path / "file").write_text("")
    runs.save(tmp_path / "file", tmp_path, history)


def test_a_run_of_one_part_is_compared_with_the_last_of_that_part(tmp_path: Path) -> None:
    work, history = tmp_path / "work", str(tmp_path / "history")
    shutil.copytree(STUDENT, work)
    assert command("grade", str(work), "--history", history).returncode == 0
    shutil.copy(ROOT / "reference" / "paper.py", work)
    for change in ("+11 since the last run: paper +5, parameters +6", "no change since the last run"):
        done = command("grade", str(work), "--history", history, "--only", "On paper")
        assert change in done.stdout.splitlines()[-1]


# --- submitting -------------------------------------------------------------------------------------------------------


@pytest.fixture
def work(tmp_path: Path) -> Path:
    return Path(shutil.copytree(STUDENT, tmp_path / "work"))


def test_the_edited_one_of_notebook_and_files_is_submitted(work: Path, tmp_path: Path) -> None:
    notebook = json.loads((work / "step-05.ipynb").read_text("utf-8"))
    for cell in notebook["cells"]:
        if cell["id"] == "MLP":
            cell["source"] = ["class MLP(nn.Module):\n", "    pass\n"]
    (work / "step-05.ipynb").write_text(json.dumps(notebook), "utf-8")
    made = pack.pack(ASSIGNMENT, work, tmp_path / "out.zip", None)
    assert "step-05.ipynb" in made.files
    assert {"gpt.py", "paper.py"} <= set(made.unchanged)
    assert read_submission(tmp_path / "out.zip", ASSIGNMENT).sha256 == read_submission(work, ASSIGNMENT).sha256


def test_incomplete_work_is_packed_and_reported(work: Path, tmp_path: Path) -> None:
    for name in ("gpt.py", "answers.md", "step-05.ipynb"):
        (work / name).unlink()
    (work / "notes.txt").write_text("not code")
    (work / "link.py").symlink_to(ROOT / "reference" / "gpt.py")
    made = pack.pack(ASSIGNMENT, work, tmp_path / "out.zip", None)
    assert sorted(made.files) == ["head.py", "paper.py", "verify.py"]
    assert "no gpt.py" in made.trouble
    assert any(line.startswith("answers.md is missing") for line in made.lines)


def test_answers_count_in_the_form_that_is_submitted(work: Path, tmp_path: Path) -> None:
    def empty() -> list[str]:
        return pack.find_answers_left(ASSIGNMENT, work)

    assert empty() == [
        "answers.md: questions 1, 2, 3 and 4 are empty (19 points, marked by hand)",
        "answers.md: question 5 is empty (optional, 5 points, marked by hand)",
    ]
    text = (work / "answers.md").read_text("utf-8")
    first, _, rest = text.partition("YOUR ANSWER HERE")
    (work / "answers.md").write_text(f"{first}YOUR ANSWER HERE\n\nSix matrices.\n{rest}", "utf-8")  # written below
    assert "questions 2, 3 and 4" in empty()[0]
    (work / "answers.md").write_text("ok\n", "utf-8")
    assert "questions 1, 2, 3 and 4" in empty()[0]
    notebook = json.loads((work / "step-05.ipynb").read_text("utf-8"))
    for cell in notebook["cells"]:
        if cell["id"] == "MLP":
            cell["source"] = ["class MLP(nn.Module):\n", "    pass\n"]
        if cell["id"].startswith("written-") and cell["id"] != "written-5":
            cell["source"] = ["My answer."]
    (work / "step-05.ipynb").write_text(json.dumps(notebook), "utf-8")
    assert empty() == ["step-05.ipynb: question 5 is empty (optional, 5 points, marked by hand)"]


def test_a_score_is_shown_only_for_unchanged_code(work: Path, tmp_path: Path, full: Report) -> None:
    own = read_submission(work, ASSIGNMENT)
    of_work = full.model_copy(
        update={
            "submission": full.submission.model_copy(update={"sha256": own.sha256}),
            "warnings": ("gpt.py is not valid Python: line 49.",),
        }
    )
    runs.save(tmp_path / "history", work, runs.History(rubric=full.provenance.rubric).add(of_work))
    lines = pack.pack(ASSIGNMENT, work, tmp_path / "out.zip", tmp_path / "history").lines
    assert lines[-2:] == (
        "This code scored 100 of 100 points in the last run.",
        "gpt.py is not valid Python: line 49.",
    )
    (work / "gpt.py").write_text("x = 1\n")
    lines = pack.pack(ASSIGNMENT, work, tmp_path / "out.zip", tmp_path / "history").lines
    assert "Changed since the last run (100 of 100 points): run make grade." in lines


def test_an_empty_or_absent_folder_is_one_clear_error(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    for path in (tmp_path / "empty", tmp_path / "nowhere"):
        with pytest.raises(BadInput, match="give the folder with your work"):
            pack.pack(ASSIGNMENT, path, tmp_path / "out.zip", None)


def test_windows_users_are_pointed_to_wsl(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(sys, "platform", "win32")
    with pytest.raises(SystemExit) as stopped:
        cli.main()
    assert stopped.value.code == 2
    assert "wsl --install" in one_line(capsys.readouterr().err)
