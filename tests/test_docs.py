"""Test the documents: commands run and print what is shown; links, paths and names in the code exist."""

from __future__ import annotations

import ast
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path

import pytest

from autograder.assignment import ASSIGNMENT
from autograder.grading import rubric
from autograder.grading.report import Report
from tests import picture
from tests.conftest import ROOT

DOCUMENTS = (
    "README.md",
    "bundle/README.md",
    "student/README.md",
    *sorted(path.relative_to(ROOT).as_posix() for path in ROOT.glob("docs/**/*.md")),
)
PAGES = [document for document in DOCUMENTS if document.startswith("docs/")]
FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
EXCERPT = re.compile(r"(.*?)^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)  # text before, language, code
LINK = re.compile(r"(?<!\$)\[[^\]]*\]\(([^)\s]+)\)")
QUOTED = re.compile(r"`([^`\n]+)`")
PATH = re.compile(r"\w[\w.-]*(/[\w.-]+)+/?|\w[\w.-]*\.(py|toml|sh|jinja)|\w[\w.-]*/")
DOTTED = re.compile(r"[A-Za-z_]\w*(\.[A-Za-z_]\w*)+")
FOREIGN = re.compile(r"(c|nn|np|pytest|torch)\..*")  # libraries, and nbgrader's settings
FILE = re.compile(r".*\.(csv|html|ipynb|jinja|json|md|py|sh|sqlite|svg|toml|txt|xml|zip)")
MADE = {"build", "feedback", "graded", "release", "submitted", "work"}  # folders that the commands create

# Commands that are not run here, with the reason.
ELSEWHERE = {
    r"make test": "it runs this test",
    r"make derive": "make derive-check in CI, and tests/test_derive.py",
    r"make (image|docker|parity|wheelhouse)": "needs Docker or a network; .ci/run, tests/docker",
    r"make nbgrader-course|\.venv/bin/python -m reference\.derive": "needs course.txt; tests/test_nbgrader.py",
    r"make grade PYTHON=/path/to/python": "the path is a placeholder; tests/test_student_bundle.py",
    r"\.venv/bin/python -m (pip install )?notebook": "needs a network",
}  # fmt: skip


def blocks(document: str) -> list[tuple[str, str]]:
    """Return the fenced blocks of a document: (language, text)."""
    return FENCE.findall((ROOT / document).read_text("utf-8"))


def commands(text: str) -> list[str]:
    """Return the commands of a block, without comments."""
    return [line for line in (re.sub(r"(^|\s+)#.*", "", line).strip() for line in text.splitlines()) if line]


def run_here(command: str) -> bool:
    return not any(re.match(pattern, command) for pattern in ELSEWHERE)


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """Return a copy of the project's files."""
    top = tmp_path / "checkout"
    for name in tracked():
        if not name.startswith("tests/bank/attacks/"):
            (top / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, top / name)
    _submissions(top)
    return top


def _submissions(top: Path) -> None:
    """Write four submissions: a correct one, one with ReLU, the stub, and one with the softmax over the wrong axis."""
    wrong = {"bob": ("gpt.py", "F.gelu(", "F.relu("), "dee": ("head.py", "dim=-1", "dim=1")}
    sources = {"ada": "reference", "bob": "reference", "cyd": "student", "dee": "reference"}
    for student, source in sources.items():
        folder = top / "submissions" / student
        folder.mkdir(parents=True)
        for name in ("gpt.py", "head.py", "paper.py", "verify.py"):
            shutil.copy(top / source / name, folder)
        if student in wrong:
            name, right, instead = wrong[student]
            (folder / name).write_text((folder / name).read_text("utf-8").replace(right, instead), "utf-8")
    shutil.copy(top / "student" / "paper.py", top / "submissions" / "dee")  # without the paper exercises


def shell(checkout: Path, command: str) -> str:
    """Return what a command prints. Raises AssertionError if it fails."""
    clean = {
        k: v
        for k, v in os.environ.items()
        if not k.startswith(("PYTEST_", "AUTOGRADER_", "MAKE")) and k != "PYTHONPATH"
    }
    settings = {"PYTHON": sys.executable, "TORCH_INDEX_URL": "", "COLUMNS": "100"}
    done = subprocess.run(
        ["sh", "-c", command], cwd=checkout, env=clean | settings, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, f"{command}\n{done.stdout[-2000:]}\n{done.stderr[-2000:]}"
    return done.stdout + done.stderr


def test_each_command_runs_and_prints_what_is_shown(checkout: Path) -> None:
    """Commands run in the order of the documents, in one folder, each only once."""
    (checkout / "work").mkdir()
    shell(checkout, "make setup")
    printed: dict[str, str] = {}
    for document in DOCUMENTS:
        for (language, text), following in pairwise([*blocks(document), ("", "")]):
            mine = [command for command in commands(text) if language == "sh" and run_here(command)]
            for command in mine:
                if command not in printed:
                    printed[command] = shell(checkout, command)
            if mine and following[0] == "text":
                shown(following[1], "".join(printed[command] for command in mine), document)


def shown(text: str, printed: str, document: str) -> None:
    """Require each line of ``text`` in ``printed``; three dots stand for a number, or alone for further lines."""
    for line in text.splitlines():
        if line.strip() != "...":
            wanted = r"\s+".join(re.escape(word).replace(re.escape("..."), r"\S+") for word in line.split())
            assert re.search(wanted, printed), f"{document}: nothing prints {line!r}, but\n{printed}"


def test_every_reason_not_to_run_a_command_is_needed() -> None:
    every = [
        c for document in DOCUMENTS for language, text in blocks(document) if language == "sh" for c in commands(text)
    ]
    for pattern in ELSEWHERE:
        assert any(re.match(pattern, command) for command in every), pattern
    assert sum(map(run_here, every)) > 15


def anchors(path: Path) -> set[str]:
    """Return the anchors of the headings of a Markdown file."""
    headings = re.findall(r"^#+ (.+)$", FENCE.sub("", path.read_text("utf-8")), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("document", [*DOCUMENTS, "CHANGELOG.md"])
def test_each_link_leads_somewhere(document: str) -> None:
    for target in LINK.findall(prose(document)):
        if target.startswith(("http:", "https:")):
            continue
        file, _, anchor = target.partition("#")
        path = (ROOT / document).parent / file if file else ROOT / document
        assert path.exists(), f"{document}: {target}"
        assert not anchor or anchor in anchors(path), f"{document}: {target}"


def prose(document: str) -> str:
    """Return the text of a document without its fenced blocks."""
    return FENCE.sub("", (ROOT / document).read_text("utf-8"))


def tracked() -> list[str]:
    """Return the paths of all files of the project."""
    listed = ["git", "ls-files", "--cached", "--others", "--exclude-standard"]
    names = subprocess.run(listed, cwd=ROOT, capture_output=True, text=True, check=True).stdout.splitlines()
    return [name for name in names if (ROOT / name).exists()]


@pytest.mark.parametrize("document", DOCUMENTS)
def test_every_path_exists(document: str) -> None:
    """Paths may be relative to any folder, as in "sandbox/remote/wire.py"."""
    files = [f"/{name}" for name in tracked()]
    for path in QUOTED.findall(prose(document)):
        if PATH.fullmatch(path) and path.split("/")[0] not in MADE:
            found = any(file.endswith(f"/{path}") or f"/{path.rstrip('/')}/" in file for file in files)
            assert found, f"{document}: {path}"


def defines(body: list[ast.stmt], names: list[str]) -> bool:
    """Return whether ``body`` defines ``names``: a name, then a name in that class, and so on."""
    for node in body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef) and node.name == names[0]:
            return len(names) == 1 or (isinstance(node, ast.ClassDef) and defines(node.body, names[1:]))
        targets = (
            node.targets if isinstance(node, ast.Assign) else [node.target] if isinstance(node, ast.AnnAssign) else []
        )
        if names in ([target.id] for target in targets if isinstance(target, ast.Name)):
            return True
    return False


def exists(name: str, modules: dict[str, list[ast.stmt]]) -> bool:
    """Return whether a dotted name is a module, a definition in a module, or a member of a class."""
    parts = name.split(".")
    for module, body in modules.items():
        if defines(body, parts):
            return True
        for i in range(1, len(parts) + 1):
            if f".{module}".endswith(f".{'.'.join(parts[:i])}") and (i == len(parts) or defines(body, parts[i:])):
                return True
    return False


def is_field(name: str) -> bool:
    """Return whether a dotted name is a key of the report, such as "provenance.sandbox"."""
    first, *rest = name.split(".")
    field = Report.model_fields.get(first)
    inner = getattr(field.annotation, "model_fields", {}) if field else {}
    return len(rest) == 1 and rest[0] in inner


def test_every_dotted_name_exists() -> None:
    modules = {
        ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__"): ast.parse(
            path.read_text("utf-8")
        ).body
        for path in ROOT.glob("autograder/**/*.py")
    }
    checks = {check.id for check in rubric.load(ASSIGNMENT).checks}
    found = 0
    for document in PAGES:
        for name in QUOTED.findall(prose(document)):
            if DOTTED.fullmatch(name) and not FILE.fullmatch(name) and not FOREIGN.fullmatch(name):
                found += 1
                assert name in checks or is_field(name) or exists(name, modules), f"{document}: {name}"
    assert found > 40


def test_the_architecture_page_lists_every_module() -> None:
    listed = set(re.findall(r"^\| `([\w./-]+)` \|", (ROOT / "docs/architecture.md").read_text("utf-8"), re.MULTILINE))
    folders = tuple(name for name in listed if name.endswith("/") and name != "autograder/")
    for path in tracked():
        name = path.removeprefix("autograder/")
        if name != path and path.endswith(".py") and not path.endswith("/__init__.py"):
            assert name in listed or name.startswith(folders), name


def test_every_page_can_be_reached_from_the_readme() -> None:
    reached, left = set(), ["README.md"]
    while left:
        document = left.pop()
        reached.add(document)
        for target in LINK.findall(prose(document)):
            page = os.path.normpath(Path(document).parent / target.partition("#")[0])
            if page in DOCUMENTS and page not in reached:
                left.append(page)
    assert set(PAGES) <= reached


def test_each_excerpt_is_in_the_file_named_before_it() -> None:
    document = "docs/another-assignment.md"
    excerpts, named = 0, ""
    for before, language, text in EXCERPT.findall((ROOT / document).read_text("utf-8")):
        named = next(reversed(re.findall(r"`(tests/head_assignment/[\w./]+\.\w+)`", before)), named)
        if language != "sh":
            excerpts += 1
            assert text in (ROOT / named).read_text("utf-8"), f"{document}: {named} does not contain\n{text}"
    assert excerpts >= 6


def test_the_picture_is_of_a_report_as_it_is_made_now(grade: Callable[..., Report], tmp_path: Path) -> None:
    drawn = picture.draw(grade(picture.two_mistakes(tmp_path / "student")))
    assert picture.PICTURE.read_text("utf-8") == drawn, "python -m tests.picture draws it anew"
    assert "http" not in re.sub(r'xmlns="[^"]*"', "", drawn).replace(
        "<!-- Generated with Rich https://www.textualize.io -->", ""
    )
