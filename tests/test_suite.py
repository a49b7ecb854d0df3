"""Test grading as a whole: every check gets one verdict, which depends only on submission and secret."""

from __future__ import annotations

import gc
import json
import os
import shutil
import subprocess
import sys
import textwrap
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from autograder.assignment import ASSIGNMENT
from autograder.assignment.checks import paper
from autograder.assignment.measure import outputs
from autograder.grading import rubric, suite
from autograder.grading.report import Report
from autograder.sandbox.remote.client import Zygote
from autograder.submission.read import read_submission
from tests import bank_file
from tests.conftest import ROOT

ROWS = rubric.load(ASSIGNMENT)
IDS = [check.id for check in ROWS.checks]
BONUS = {check.id for criterion in ROWS.criteria if criterion.bonus for check in criterion.checks}
REFERENCE = ROOT / "reference"
SCHEMA = json.loads((ROOT / "autograder" / "grading" / "report.schema.json").read_text("utf-8"))
Grade = Callable[..., Report]


@pytest.fixture(scope="module")
def reference(grade: Grade) -> Report:
    return grade(REFERENCE)


@pytest.fixture(scope="module")
def stub(grade: Grade) -> Report:
    return grade(ROOT / "student")


def handed_in(folder: Path, **files: str) -> Path:
    """Return the reference's files with these appended or added; later definitions take precedence."""
    folder.mkdir(exist_ok=True)
    for name in ("gpt", "head", "paper", "verify"):
        (folder / f"{name}.py").write_text((REFERENCE / f"{name}.py").read_text("utf-8"), "utf-8")
    for name, text in files.items():
        with (folder / f"{name}.py").open("a", encoding="utf-8") as file:
            file.write(f"\n\n{text}\n")
    return folder


def verdicts(report: Report) -> dict[str, tuple[str, float]]:
    return {check.id: (check.status, check.score) for check in report.checks}


def comparable(report: Report) -> str:
    """Return the document without the parts that may differ between two gradings."""
    document = json.loads(report.to_json())
    del document["timing"], document["output"]
    return json.dumps(document)


def validate(report: Report) -> None:
    jsonschema.validate(json.loads(report.to_json()), SCHEMA, cls=jsonschema.Draft202012Validator)


# --- one verdict per check --------------------------------------------------------------------------------------------


def test_the_reference_gets_full_marks(reference: Report) -> None:
    lost = {check.id: check.message for check in reference.checks if check.status != "passed"}
    assert not lost
    assert [check.id for check in reference.checks] == IDS
    assert (reference.score, reference.max_score, reference.gradable) == (ROWS.total, ROWS.total, True)
    assert reference.not_implemented == ()
    validate(reference)


def test_the_stub_gets_no_point_and_no_blame(stub: Report) -> None:
    assert [check.id for check in stub.checks] == IDS
    assert {check.status for check in stub.checks} <= {"not_implemented", "blocked"}
    assert (stub.score, stub.max_score, stub.gradable) == (0, ROWS.total, True)
    validate(stub)


def test_the_stubs_definitions_are_listed_with_the_line_to_replace(stub: Report) -> None:
    assert stub.not_implemented
    for entry in stub.not_implemented:
        assert "NotImplementedError" in (ROOT / "student" / entry.file).read_text().splitlines()[entry.line - 1]


def test_a_file_that_ends_the_process_takes_the_checks_that_need_it_and_no_other(grade: Grade, tmp_path: Path) -> None:
    report = grade(handed_in(tmp_path, gpt="import os; os._exit(0)"))
    assert [check.id for check in report.checks] == IDS
    assert {check.status for check in report.checks} == {"crashed", "passed"}  # paper.py is unchanged
    assert report.gradable
    validate(report)


def test_a_statement_that_does_not_go_through_costs_no_definition_and_is_remarked(
    grade: Grade, reference: Report, tmp_path: Path
) -> None:
    report = grade(handed_in(tmp_path, gpt="1 / 0", paper="def ("), only=ROWS.criteria[0].id)
    assert report.score == report.max_score > 0
    assert [remark.partition(".py")[0] for remark in report.warnings] == ["paper", "gpt"]
    assert "ZeroDivisionError" in report.warnings[1]
    assert reference.warnings == ()


def test_what_cannot_be_read_is_not_said_to_be_unwritten(grade: Grade, tmp_path: Path) -> None:
    report = grade(handed_in(tmp_path, gpt="class MLP(:\n    pass\n"), only=ROWS.criteria[0].id)
    assert report.not_implemented == ()
    broken = "\n".join(["class MLP(nn.Module):", "    def __init__(self, d):", "        self.up = (", "", ""])
    folder = handed_in(tmp_path / "alone", gpt="")
    (folder / "gpt.py").write_text(f"from torch import nn\n\n\n{broken}")
    names = {entry.name for entry in grade(folder, only=ROWS.criteria[0].id).not_implemented}
    assert "Block" in names
    assert "MLP" not in names


def test_what_is_absent_with_its_whole_file_is_still_to_be_written(grade: Grade, tmp_path: Path) -> None:
    folder = handed_in(tmp_path)
    (folder / "paper.py").unlink()
    assert {entry.file for entry in grade(folder, only=ROWS.criteria[0].id).not_implemented} == {"paper.py"}


# Appended to gpt.py and paper.py: every call of a check returns VALUE, alone or inside the correct result.
RETURNS = """
def returns(name, value):
    old = globals()[name]
    def new(*arguments, **named):
        right = old(*arguments, **named)
        return dict.fromkeys(right, value) if isinstance(right, dict) else value
    return new

for name in [name for name, old in globals().items() if type(old).__name__ == "function" and name != "returns"]:
    globals()[name] = returns(name, VALUE)
if "GPT" in globals():
    GPT.forward = GPT.generate = lambda self, *arguments, **named: VALUE
    shape_table = lambda model, idx: [("logits", VALUE)] * 7
"""
VALUES = {
    "a huge number": "10 ** 400",
    "no number": "float('nan')",
    "text": "'First Citizen: ' * 1000",
    "a complex tensor": "__import__('torch').zeros(2, 0, 65, dtype=__import__('torch').complex64)",
}


@pytest.mark.parametrize("odd", VALUES)
def test_nothing_that_student_code_returns_is_an_error_of_the_grader(grade: Grade, tmp_path: Path, odd: str) -> None:
    text = RETURNS.replace("VALUE", f"({VALUES[odd]})")
    no_error(grade(handed_in(tmp_path, gpt=text, paper=text)))


MODELS = {
    "functions": "def GPT(V, T_max, d, H, L): return 3\ndef MLP(d): return MLP",
    "a model larger than memory": """
class GPT(nn.Linear):
    def __init__(self, *sizes): super().__init__(1 << 30, 1 << 30, bias=False, device="meta")
""",
    "a model larger than a frame": """
class GPT(GPT):
    def __init__(self, *sizes):
        super().__init__(*sizes)
        self.over_all_positions = nn.Parameter(torch.zeros(1).expand(64 * 128, 64 * 40))
""",
    "a model with nothing to train": """
class GPT(GPT):
    def __init__(self, *sizes):
        super().__init__(*sizes)
        self.requires_grad_(False)
""",
}


@pytest.mark.parametrize("odd", MODELS)
def test_nothing_that_student_code_builds_is_an_error_of_the_grader(grade: Grade, tmp_path: Path, odd: str) -> None:
    no_error(grade(handed_in(tmp_path, gpt=MODELS[odd])))


def no_error(report: Report) -> None:
    assert [check.id for check in report.checks] == IDS
    assert not [f"{check.id}: {check.message}" for check in report.checks if check.status == "error"]
    assert report.gradable
    assert max(len(check.message) for check in report.checks) < 1000
    validate(report)


# --- what is not asked for, and what goes wrong -----------------------------------------------------------------------


def test_with_only_the_other_criteria_are_skipped_and_not_counted(grade: Grade) -> None:
    criterion = next(criterion for criterion in ROWS.criteria if criterion.id == "shapes")
    report = grade(REFERENCE, only=criterion.id)
    assert [check.id for check in report.checks] == IDS
    for check in report.checks:
        assert check.status == ("passed" if check.criterion == criterion.id else "skipped"), check.message
    assert report.score == report.max_score == criterion.points
    validate(report)


@pytest.mark.parametrize(
    ("name", "criterion"),
    [
        ("block_no_mlp_call", "parameters"),
        ("norms_eps_1e_3", "model"),
        ("attention_weights_transposed", "causality"),
        ("gpt_final_norm_missing", "initial_loss"),
    ],
)
def test_a_criterion_alone_gets_what_it_gets_in_a_whole_run(
    name: str, criterion: str, grade: Grade, tmp_path: Path
) -> None:
    folder = bank_file.load(bank_file.BANK / "mistakes" / f"{name}.py").write(tmp_path)
    whole, alone = (
        {check.id: check for check in report.checks if check.criterion == criterion}
        for report in (grade(folder), grade(folder, only=criterion))
    )
    assert alone == whole


def test_one_unlucky_seed_costs_nothing(grade: Grade, tmp_path: Path) -> None:
    wide_at_first = """
        class GPT(GPT):
            starts = [9.0]
            def __init__(self, V, T_max, d, H, L):
                super().__init__(V, T_max, d, H, L)
                if L == 4 and d == 128 and self.starts:
                    self.lm_head.weight.data *= self.starts.pop()
    """
    report = grade(handed_in(tmp_path, gpt=textwrap.dedent(wide_at_first)), only="initial_loss")
    window = next(check for check in report.checks if check.id == "initial_loss.window")
    assert window.status == "passed", window.message
    assert 4.3 < window.evidence["losses"]["random targets"] < 4.4


def test_a_mistake_in_a_check_is_an_error_and_no_grade(grade: Grade, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: Any) -> None:
        raise ZeroDivisionError("division by zero")

    monkeypatch.setattr(outputs, "random_weights", broken)
    report = grade(REFERENCE, only="causality")
    wrong = [check for check in report.checks if check.status == "error"]
    assert wrong
    assert {check.score for check in wrong} == {0}
    assert wrong[0].message == "The grader failed here: ZeroDivisionError: division by zero"
    assert not report.gradable
    assert "Traceback" not in report.to_json()
    assert str(ROOT) not in report.to_json()
    validate(report)


@pytest.mark.parametrize(("side", "status"), [("128", "error"), ("float('inf')", "failed")])
def test_what_an_odd_answer_raises_in_a_check_is_no_error_of_the_grader(
    grade: Grade, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, side: str, status: str
) -> None:
    def broken(*_: Any) -> None:
        raise IndexError("list index out of range")

    monkeypatch.setattr(paper, "_shape", broken)
    report = grade(handed_in(tmp_path, paper=f"def block_matrices(d): return {{'W': ({side}, 128)}}"), only="paper")
    verdict = next(check for check in report.checks if check.id == "paper.block_matrices")
    assert verdict.status == status, verdict.message
    assert "IndexError: list index out of range" in verdict.message
    assert ("test_suite.py" in verdict.evidence.get("unusable", "")) == (status == "failed")


def test_a_row_without_a_check_and_a_check_without_a_row_are_errors_that_name_it(zygote: Zygote) -> None:
    first = ROWS.criteria[0]
    extra = first.checks[0].model_copy(update={"id": f"{first.id}.never"})
    for checks, named in (((*first.checks, extra), extra.id), (first.checks[1:], first.checks[0].id)):
        rows = ROWS.model_copy(update={"criteria": (first.model_copy(update={"checks": checks}), *ROWS.criteria[1:])})
        report = suite.grade(ASSIGNMENT, read_submission(REFERENCE, ASSIGNMENT), zygote, rows, only=first.id)
        assert not report.gradable
        assert any(check.status == "error" and named in f"{check.id} {check.message}" for check in report.checks)
        assert [check.id for check in report.checks] == [check.id for check in rows.checks]


def test_verdicts_are_told_one_by_one_and_an_interruption_ends_the_run(grade: Grade) -> None:
    told: list[str] = []

    def tell(verdict: Any) -> None:
        told.append(verdict.id)
        if len(told) == 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        grade(ROOT / "student", on_verdict=tell)
    assert told == IDS[:2]


# --- what decides -----------------------------------------------------------------------------------------------------


def test_no_objects_of_a_run_stay(zygote: Zygote) -> None:
    handed_in, counts = read_submission(REFERENCE, ASSIGNMENT), []
    for _ in range(3):
        suite.grade(ASSIGNMENT, handed_in, zygote, ROWS, only="paper")
        counts.append(len(gc.get_objects()))
    assert abs(counts[2] - counts[1]) < 200  # one pytest session leaves 2,000 objects in cycles
    assert gc.get_freeze_count() == 0  # and other objects of this process can be collected again


def test_the_same_submission_gets_the_same_report_whatever_the_environment_holds_for_pytest(
    grade: Grade, reference: Report, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYTEST_ADDOPTS", "-k nothing --maxfail=1 --no-such-option")
    monkeypatch.setenv("PYTEST_PLUGINS", "no_such_plugin")
    assert comparable(grade(REFERENCE)) == comparable(reference)
    assert os.environ["PYTEST_PLUGINS"] == "no_such_plugin"


def test_another_secret_is_another_seed_and_the_same_verdicts(grade: Grade, reference: Report) -> None:
    other = grade(REFERENCE, secret=b"another secret")
    assert other.provenance.seed_id != reference.provenance.seed_id
    assert verdicts(other) == verdicts(reference)
    assert comparable(other) != comparable(reference)
    assert "another secret" not in other.to_json()


def test_random_numbers_follow_secret_submission_and_label(zygote: Zygote) -> None:
    one = read_submission(REFERENCE, ASSIGNMENT)
    two = replace(one, sha256="0" * 64)
    runs = [(one, b"a", "x"), (one, b"b", "x"), (two, b"a", "x"), (one, b"a", "y"), (one, b"a", "x")]
    drawn = [
        suite.Suite(ASSIGNMENT, entry, zygote, ROWS, secret).make_generator(label).random()
        for entry, secret, label in runs
    ]
    assert drawn[0] == drawn[-1]
    assert len(set(drawn)) == 4


def test_files_for_pytest_in_a_submission_are_inert_even_from_its_own_folder(
    grade: Grade, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    trap = f"open({str(tmp_path / 'sprung')!r}, 'w')"
    folder = handed_in(tmp_path / "ada", conftest=trap, sitecustomize=trap, test_all=trap, pytest=trap, numpy=trap)
    (folder / "pytest.ini").write_text("[pytest]\naddopts = -k nothing\n")
    shutil.copy(folder / "pytest.ini", folder / "tox.ini")
    monkeypatch.chdir(folder)
    report = grade(Path(), only=ROWS.criteria[0].id)
    assert [check.status for check in report.of(ROWS.criteria[0].id)] == ["passed"] * len(ROWS.criteria[0].checks)
    assert not (tmp_path / "sprung").exists()


def test_the_published_schema_is_that_of_the_report() -> None:
    assert Report.model_json_schema(mode="serialization") == SCHEMA
    jsonschema.Draft202012Validator.check_schema(SCHEMA)


# --- plain pytest -----------------------------------------------------------------------------------------------------


def plain(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "pytest", "autograder/assignment/checks", "-p", "no:cacheprovider", *arguments]
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")}
    return subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)


def test_plain_pytest_runs_the_checks_that_are_asked_for() -> None:
    done = plain("--submission", "reference", "-k", "full_model or full_context")
    assert done.returncode == 0, done.stdout
    assert f"2 passed, {len(IDS) - 2} deselected" in done.stdout


def test_plain_pytest_stops_at_the_first_failure_and_shows_no_trace() -> None:
    done = plain("--submission", "student", "-x")
    assert done.returncode == 1
    assert "stopping after 1 failures" in done.stdout
    assert "not_implemented: " in done.stdout
    assert "autograder/sandbox" not in done.stdout


def test_plain_pytest_without_a_submission_says_what_is_missing() -> None:
    for arguments in ((), ("--submission", "nowhere")):
        done = plain(*arguments)
        assert done.returncode == pytest.ExitCode.USAGE_ERROR
        assert len(done.stderr.strip().splitlines()) == 1
        assert "submission" in done.stderr or "nowhere" in done.stderr


def test_the_same_checks_run_without_any_process_of_their_own() -> None:
    """Test the program with which the benchmark compares grading."""
    ran = subprocess.run([sys.executable, "-m", "tests.plain"], cwd=ROOT, capture_output=True, text=True)
    assert ran.stdout == "100 / 100 points\n", ran.stderr
