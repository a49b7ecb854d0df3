"""Test the commands: exit status, one line for errors that the user can fix, and an isolated trusted process."""

from __future__ import annotations

import ast
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import autograder
from autograder import cli
from autograder.assignment import ASSIGNMENT
from autograder.assignment.oracle import parameter_count
from autograder.assignment.sizes import SIZES
from autograder.grading import rubric
from tests.conftest import ROOT

ROWS = rubric.load(ASSIGNMENT)


def command(*arguments: str, cwd: Path = ROOT, code: str = "", **environment: str) -> subprocess.CompletedProcess[str]:
    """Run ``python -m autograder`` with these arguments, or ``code`` instead."""
    start = ["-c", code] if code else ["-m", "autograder"]
    clean = {name: value for name, value in os.environ.items() if not name.startswith(("PYTEST_", "AUTOGRADER_"))}
    full = clean | {"PYTHONPATH": str(ROOT), "COLUMNS": "80"} | environment
    return subprocess.run(
        [sys.executable, *start, *arguments], cwd=cwd, env=full, capture_output=True, text=True, check=False
    )


def one_line(text: str) -> str:
    """Return ``text`` after checking that it is one line from the grader."""
    assert text.startswith("autograder: ")
    assert text.count("\n") == 1
    assert text.endswith("\n")
    assert "Traceback" not in text
    return text


# --- a grading --------------------------------------------------------------------------------------------------------

# Modules of the zygote and its forks, which have torch or student code; everything else is the trusted process.
ELSEWHERE = {f"autograder.sandbox.remote.{name}" for name in ("hosted", "rpc", "worker", "zygote")}
ELSEWHERE |= {
    f"autograder.sandbox.loading.{name}"
    for name in ("importer", "notebook_slice", "parse", "parts", "stubs", "substitutes")
}
ELSEWHERE |= {"autograder.sandbox.isolation.escape_attempts", "autograder.assignment.parts"}
ELSEWHERE |= {f"autograder.assignment.oracle.{name}" for name in ("diagnose", "server", "under_test")}
ELSEWHERE |= {f"autograder.assignment.handed_out.{name}" for name in ("head", "stub.gpt", "stub.paper", "stub.verify")}
# Print those that the trusted process has loaded at the end: none.
WATCHED = f"""
import sys
from autograder.cli import main
try:
    main()
finally:
    print(sorted({ELSEWHERE | {"torch", "gpt", "head", "paper", "verify"}} & set(sys.modules)), file=sys.stderr)
"""


def test_the_reference_gets_full_marks_in_print_and_in_the_file_and_torch_stays_outside(tmp_path: Path) -> None:
    target = tmp_path / "report.json"
    target.write_text("old")
    options = ("--json", str(target), "--all", "--fail-under", str(ROWS.total))
    done = command("grade", "reference", *options, code=WATCHED)
    assert (done.returncode, done.stderr) == (0, "[]\n")
    assert f"{parameter_count.total(SIZES.course):,}" in done.stdout
    assert f"{ROWS.total} / {ROWS.total} points" in done.stdout
    report = json.loads(target.read_text("utf-8"))
    assert (report["score"], report["gradable"]) == (ROWS.total, True)
    assert [check["id"] for check in report["checks"]] == [check.id for check in ROWS.checks]
    assert all(path.name.startswith("report.") for path in tmp_path.iterdir())  # no temporary file is left


def test_the_stub_is_graded_in_a_friendly_page_and_is_below_every_mark() -> None:
    done = command("grade", "student", "--fail-under", "1")
    assert (done.returncode, done.stderr) == (1, "")
    assert "To write, in the order of the handout" in done.stdout
    assert "Traceback" not in done.stdout
    assert len(done.stdout.splitlines()) <= 24
    assert max(map(len, done.stdout.splitlines())) <= 80
    assert "\x1b" not in done.stdout


def test_nothing_of_the_folder_in_which_the_command_is_called_is_imported(tmp_path: Path) -> None:
    folder = tmp_path / "ada"
    folder.mkdir()
    trap = f"import os\nif os.getcwd() == {str(folder)!r}: open({str(tmp_path / 'sprung')!r}, 'w')\n"
    standard = ("json", "secrets", "selectors", "subprocess", "tempfile", "typing")
    for name in (*standard, "conftest", "numpy", "pytest", "rich", "torch", "typer"):
        (folder / f"{name}.py").write_text(trap)
    (folder / "gpt.py").write_text("class GPT: pass\n")
    done = command("grade", ".", "--only", ROWS.criteria[0].id, cwd=folder)
    assert not (tmp_path / "sprung").exists()
    assert (done.returncode, done.stderr) == (0, "")
    assert "To write" in done.stdout


def test_a_command_line_that_cannot_be_read_leaves_no_process_and_no_folder(tmp_path: Path) -> None:
    done = command("grade", "reference", "--nonsense", TMPDIR=str(tmp_path))
    assert done.returncode == 2
    assert "--nonsense" in one_line(done.stderr)
    assert not list(tmp_path.iterdir())
    assert not [line for line in Path("/proc").glob("[0-9]*/cwd") if str(tmp_path) in os.path.realpath(line)]


# --- what the user can mend -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["grade", "no/such/path"], ["no/such/path", "No such file"]),
        (["grade", "tests/bank"], ["tests/bank", "gpt.py"]),
        (["grade", "reference", "--only", "nonsense"], ["nonsense", *(criterion.id for criterion in ROWS.criteria)]),
        (["grade", "reference", "--json", "no/such/folder/r.json"], ["no/such/folder"]),
        (["grade", "reference", "--json", "FOLDER"], ["FOLDER"]),
        (["grade", "reference", "--seed", "x"], ["--seed", "--help"]),
        (["grade", "reference", "--no-such-option"], ["--no-such-option", "--help"]),
        (["grade"], ["--help"]),
        (["no-such-command"], ["no-such-command", "--help"]),
    ],
    ids=["no path", "no gpt", "only", "no folder", "a folder", "seed", "option", "no argument", "command"],
)
def test_bad_input_is_status_2_and_one_line_on_stderr(
    arguments: list[str],
    said: list[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(ROOT)
    monkeypatch.setattr(sys, "argv", ["autograder", *(a.replace("FOLDER", str(tmp_path)) for a in arguments)])
    with pytest.raises(SystemExit) as ended:
        cli.main()
    printed = capfd.readouterr()
    assert (ended.value.code, printed.out) == (2, "")
    line = one_line(printed.err)
    for word in said:
        assert word.replace("FOLDER", str(tmp_path)) in line


def test_a_grader_that_cannot_work_is_status_3_and_one_line_with_the_reason(tmp_path: Path) -> None:
    (tmp_path / "torch.py").write_text("raise ImportError('libtorch_cpu.so: cannot open shared object file')")
    broken = f"""
from autograder.sandbox.remote import launch
environment = launch._make_environment
launch._make_environment = lambda home: environment(home) | {{"PYTHONPATH": {str(tmp_path)!r}}}
from autograder.cli import main
main()
"""
    done = command("grade", "reference", code=broken)
    assert (done.returncode, done.stdout) == (3, "")
    assert "libtorch_cpu.so" in one_line(done.stderr)


def test_the_schema_command_prints_the_published_schema() -> None:
    done = command("schema")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == (ROOT / "autograder" / "grading" / "report.schema.json").read_text("utf-8")


# --- files ------------------------------------------------------------------------------------------------------------


def test_a_file_is_written_whole_or_not_at_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    target = tmp_path / "report.json"
    cli.write_whole(target, "one ü\n")
    assert target.read_text("utf-8") == "one ü\n"

    def full(_: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(cli.BadInput, match="No space left"):
        cli.write_whole(target, "two\n")
    assert target.read_text("utf-8") == "one ü\n"
    assert list(tmp_path.iterdir()) == [target]


def test_a_place_that_cannot_be_written_to_is_named_and_nothing_is_left_there(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    with pytest.raises(cli.BadInput, match="folder"):
        cli.write_whole(tmp_path / "folder", "text")
    with pytest.raises(cli.BadInput, match="nowhere"):
        cli.write_whole(tmp_path / "nowhere" / "report.json", "text")
    assert list(tmp_path.iterdir()) == [tmp_path / "folder"]


def test_a_python_without_the_packages_is_told_where_they_are() -> None:
    start = [sys.executable, "-S", "-m", "autograder", "grade", "student"]
    done = subprocess.run(start, cwd=ROOT, env={"PYTHONPATH": str(ROOT)}, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "`make setup`" in one_line(done.stderr)


def test_sizes_that_do_not_fit_are_one_line_with_their_place(tmp_path: Path) -> None:
    shutil.copytree(ROOT / "autograder", tmp_path / "autograder", ignore=shutil.ignore_patterns("__pycache__"))
    place = tmp_path / "autograder" / "assignment" / "sizes.py"
    place.write_text(place.read_text("utf-8").replace("d=128, H=4", "d=128, H=5"), "utf-8")
    done = command("grade", str(ROOT / "student"), cwd=tmp_path, PYTHONPATH=str(tmp_path))
    assert done.returncode == 2
    assert "autograder/assignment/sizes.py: V=65, T_max=64, d=128, H=5, L=4: d is not a" in one_line(done.stderr)


# --- the trusted process ----------------------------------------------------------------------------------------------

MODULES = {"torch", "pickle", "_pickle", "cloudpickle", "dill", "joblib", "marshal", "shelve"}
CALLS = {"eval", "exec", "compile", "__import__"}


def test_the_trusted_modules_neither_import_torch_nor_unpickle_nor_evaluate() -> None:
    modules = {
        ".".join(path.relative_to(ROOT).with_suffix("").parts): path
        for path in Path(autograder.__file__).parent.rglob("*.py")
    }
    assert set(modules) > ELSEWHERE
    found = []
    for path in (modules[name] for name in set(modules) - ELSEWHERE):
        tree = ast.parse(path.read_text("utf-8"))
        for only_types in ast.walk(tree):
            if isinstance(only_types, ast.If) and ast.unparse(only_types.test) == "TYPE_CHECKING":
                only_types.body.clear()  # never runs
        for node in ast.walk(tree):
            if isinstance(node, ast.Import):
                bad = MODULES & {alias.name.split(".")[0] for alias in node.names}
            elif isinstance(node, ast.ImportFrom):
                bad = MODULES & {(node.module or "").split(".")[0]}
            elif isinstance(node, ast.Call):
                bad = CALLS & {getattr(node.func, "id", "")} | {"allow_pickle"} & {k.arg for k in node.keywords}
            else:
                continue
            found += [f"{path.relative_to(ROOT)}:{node.lineno}: {name}" for name in bad]
    assert not found
