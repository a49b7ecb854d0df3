"""Students' files are derived from the reference: only solutions are removed, and edits are never overwritten."""

from __future__ import annotations

import ast
import hashlib
import importlib
import re
import shutil
import sys
from pathlib import Path
from types import ModuleType

import pytest

from autograder.core.errors import BadInput

REPOSITORY = Path(__file__).resolve().parent.parent
NAMES = ("head.py", "gpt.py", "paper.py", "verify.py")
REGION = re.compile(r"^( *)### BEGIN SOLUTION\n.*?^ *### END SOLUTION\n", re.MULTILINE | re.DOTALL)


@pytest.fixture(scope="module")
def tool() -> ModuleType:
    """Import reference/derive.py; skip if its tools are not installed."""
    pytest.importorskip("jupytext")
    pytest.importorskip("nbgrader")
    return importlib.import_module("reference.derive")


@pytest.fixture
def root(tool: ModuleType, tmp_path: Path) -> Path:
    """Return a copy of reference/ with everything derived from it."""
    (tmp_path / "reference").mkdir()
    for name in (*NAMES, "answers.md", "measured.json", "step-05.md.jinja"):
        shutil.copy(REPOSITORY / "reference" / name, tmp_path / "reference")
    assert tool.main([], root=tmp_path) == 0
    return tmp_path


def content(root: Path) -> dict[str, bytes]:
    return {str(path.relative_to(root)): path.read_bytes() for path in sorted(root.rglob("*")) if path.is_file()}


def append(path: Path, text: str) -> None:
    path.write_bytes(path.read_bytes() + text.encode())


def definitions(text: str) -> dict[str, tuple[str, str | None]]:
    """Return {qualified name: (signature, docstring)} of all classes and functions."""
    found = {}

    def visit(node: ast.AST, prefix: str) -> None:
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.ClassDef | ast.FunctionDef):
                name = prefix + child.name
                kind = child.bases if isinstance(child, ast.ClassDef) else [child.args]
                found[name] = (" ".join(map(ast.dump, [*kind, *child.decorator_list])), ast.get_docstring(child))
                visit(child, name + ".")

    visit(ast.parse(text), "")
    return found


# --- derivatives ---


def test_the_committed_files_are_current(tool, capsys):
    assert tool.main(["--check"]) == 0, capsys.readouterr().out


@pytest.mark.parametrize("name", NAMES)
def test_only_solutions_are_replaced(root, name):
    source, stub = ((root / folder / name).read_bytes().decode() for folder in ("reference", "student"))
    assert stub == REGION.sub(r"\1# YOUR CODE HERE\n\1raise NotImplementedError()\n", source)
    assert "SOLUTION" not in stub
    assert stub.endswith("\n")
    assert not stub.endswith("\n\n")
    assert "\r" not in stub
    assert definitions(stub) == definitions(source)


def test_only_the_head_is_given(root):
    assert (root / "student" / "head.py").read_bytes() == (root / "reference" / "head.py").read_bytes()
    for name in ("gpt.py", "paper.py", "verify.py"):
        for node in ast.walk(ast.parse((root / "student" / name).read_text())):
            if isinstance(node, ast.FunctionDef):
                statements = node.body[1:] if ast.get_docstring(node) else node.body
                given = ["super().__init__()"] if node.name == "__init__" else []
                assert [ast.unparse(s) for s in statements] == [*given, "raise NotImplementedError()"], node.name


def test_the_record_has_the_format_of_sha256sum(tool, root):
    targets = [derivative.target for derivative in tool.DERIVATIVES]
    assert {f"student/{name}" for name in NAMES} <= set(targets)
    expected = [f"{hashlib.sha256((root / target).read_bytes()).hexdigest()}  {target}\n" for target in targets]
    assert (root / "reference" / "derived.sha256").read_text() == "".join(expected)


# --- writing ---


def test_a_second_run_touches_nothing(tool, root, capsys):
    before = {path: path.stat().st_mtime_ns for path in root.rglob("*")}
    capsys.readouterr()
    assert tool.main([], root=root) == 0
    assert {path: path.stat().st_mtime_ns for path in root.rglob("*")} == before
    assert capsys.readouterr().out == "All derived files are current.\n"


def test_missing_and_stale_files_are_written(tool, root, capsys):
    (root / "student" / "head.py").unlink()
    append(root / "reference" / "paper.py", "\n\nLAST = 1\n")
    untouched = (root / "student" / "gpt.py").stat().st_mtime_ns
    capsys.readouterr()
    assert tool.main([], root=root) == 0
    assert (root / "student" / "head.py").exists()
    assert (root / "student" / "paper.py").read_text().endswith("\n\nLAST = 1\n")
    assert (root / "student" / "gpt.py").stat().st_mtime_ns == untouched
    assert capsys.readouterr().out.splitlines() == [
        "wrote student/head.py",
        "wrote student/paper.py",
        "wrote autograder/assignment/handed_out/stub/paper.py",
        "wrote reference/derived.sha256",
    ]
    assert tool.main(["--check"], root=root) == 0


def test_an_edited_file_prevents_any_write(tool, root, capsys):
    (root / "student" / "head.py").unlink()
    append(root / "reference" / "paper.py", "\n\nLAST = 1\n")
    append(root / "student" / "gpt.py", "# mine\n")
    before = content(root)
    capsys.readouterr()
    assert tool.main([], root=root) == 2
    assert content(root) == before
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith("student/gpt.py: edited by hand")
    assert "reference/gpt.py" in line


def test_each_edited_file_is_reported(tool, root, capsys):
    for name in ("gpt.py", "paper.py"):
        append(root / "student" / name, "# mine\n")
    capsys.readouterr()
    assert tool.main([], root=root) == 2
    assert [line.split(":")[0] for line in capsys.readouterr().err.splitlines()] == [
        "student/gpt.py",
        "student/paper.py",
    ]


def test_without_a_record_a_file_that_differs_counts_as_edited(tool, root):
    (root / "reference" / "derived.sha256").unlink()
    assert tool.main([], root=root) == 0
    assert tool.main(["--check"], root=root) == 0
    (root / "reference" / "derived.sha256").unlink()
    append(root / "reference" / "paper.py", "\n\nLAST = 1\n")
    assert tool.main([], root=root) == 2


def test_the_same_change_in_source_and_target_is_not_an_edit(tool, root):
    for folder in ("reference", "student"):
        append(root / folder / "paper.py", "\n\nLAST = 1\n")
    assert tool.main([], root=root) == 0
    assert tool.main(["--check"], root=root) == 0


# --- checking ---


def test_check_reports_each_file_and_writes_nothing(tool, root, capsys):
    (root / "student" / "head.py").unlink()
    append(root / "student" / "gpt.py", "# mine\n")
    append(root / "reference" / "paper.py", "\n\nLAST = 1\n")
    before = content(root)
    capsys.readouterr()
    assert tool.main(["--check"], root=root) == 1
    assert content(root) == before
    lines = sorted(capsys.readouterr().out.splitlines())
    assert [(line.split(":")[0], line.split(": ")[1].split("; ")[0].split(" by ")[0]) for line in lines] == [
        ("autograder/assignment/handed_out/stub/paper.py", "stale"),
        ("student/gpt.py", "edited"),
        ("student/head.py", "missing"),
        ("student/paper.py", "stale"),
    ]


def test_check_notices_a_stale_record(tool, root, capsys):
    append(root / "reference" / "derived.sha256", f"{'0' * 64}  student/old.py\n")
    capsys.readouterr()
    assert tool.main(["--check"], root=root) == 1
    assert capsys.readouterr().out.startswith("reference/derived.sha256: stale")


# --- invalid sources ---


def test_a_mistake_in_the_rubric_is_reported_in_one_line(tool, root, capsys, monkeypatch):
    def refused(_assignment):
        raise BadInput("rubric.toml:7: total is 100, but the points sum to 101; change one")

    monkeypatch.setattr("autograder.grading.rubric.load", refused)
    assert tool.main([], root=root) == 2
    assert capsys.readouterr().err == "rubric.toml:7: total is 100, but the points sum to 101; change one\n"


@pytest.mark.parametrize(
    ("source", "complaint"),
    [
        ("x = 1\n### BEGIN SOLUTION\n", "line 2: 'BEGIN SOLUTION' without 'END SOLUTION'"),
        ("x = 1\n### END SOLUTION\n", "line 2: 'END SOLUTION' without 'BEGIN SOLUTION'"),
        ("### BEGIN SOLUTION\n### BEGIN SOLUTION\n### END SOLUTION\n### END SOLUTION\n", "line 2: .* begins at line 1"),
        ("", "does not survive jupytext"),
        ("x = 1\n# %%\ny = 1\n", "does not survive jupytext"),
        ("x = 1\n\n", "does not survive jupytext"),
        ("x = 1", "does not survive jupytext"),
        ("if 1:\n### BEGIN SOLUTION\n    y = 1\n### END SOLUTION\n", "leaves invalid Python at line 3"),
        ("x = 1\r\n", "CR line endings"),
    ],
)
def test_an_invalid_source_is_reported_in_one_line(tool, root, capsys, source, complaint):
    (root / "reference" / "paper.py").write_bytes(source.encode())
    before = content(root)
    capsys.readouterr()
    for arguments in ([], ["--check"]):
        assert tool.main(arguments, root=root) == 2
        (line,) = capsys.readouterr().err.splitlines()
        assert re.match(f"reference/paper.py: .*{complaint}", line), line
    assert content(root) == before


def test_a_broken_record_is_reported_in_one_line(tool, root, capsys):
    append(root / "reference" / "derived.sha256", "<<<<<<< ours\n")
    capsys.readouterr()
    assert tool.main([], root=root) == 2
    assert capsys.readouterr().err.startswith(
        f"reference/derived.sha256, line {len(tool.DERIVATIVES) + 1}: not in sha256sum format"
    )


def test_a_missing_tool_is_reported_in_one_line(tool, root, capsys, monkeypatch):
    monkeypatch.setitem(sys.modules, "nbgrader.preprocessors", None)
    capsys.readouterr()
    assert tool.main([], root=root) == 2
    assert capsys.readouterr().err.count("\n") == 1
