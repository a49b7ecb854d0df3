"""What the documents say: each command runs, what is shown as output is printed, and each link leads somewhere."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from autograder.grading.report import Report
from tests import picture
from tests.conftest import ROOT

DOCUMENTS = (
    "README.md",
    "bundle/README.md",
    "student/README.md",
    *sorted(f"docs/{p.name}" for p in ROOT.glob("docs/*.md")),
)
FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"(?<!\$)\[[^\]]*\]\(([^)\s]+)\)")

# Commands that are not run here, and why.
ELSEWHERE = {
    r"make test": "it is what runs this",
    r"make derive": "make derive-check in CI, and tests/test_derive.py",
    r"make (image|docker|parity|wheelhouse)": "needs Docker or a network; .ci/run, tests/docker",
    r"make nbgrader-course|\.venv/bin/python -m reference\.derive": "needs course.txt; tests/test_nbgrader.py",
    r"make grade PYTHON=/path/to/python": "a path that stands for another; tests/test_student_bundle.py has one",
    r"\.venv/bin/python -m (pip install )?notebook": "needs a network",
}  # fmt: skip


def blocks(document: str) -> list[tuple[str, str]]:
    """The fenced blocks of a document: (language, text)."""
    return FENCE.findall((ROOT / document).read_text("utf-8"))


def commands(text: str) -> list[str]:
    """The commands of a block, without comments."""
    return [line for line in (re.sub(r"(^|\s+)#.*", "", line).strip() for line in text.splitlines()) if line]


def run_here(command: str) -> bool:
    return not any(re.match(pattern, command) for pattern in ELSEWHERE)


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A copy of what is committed or about to be, with a .venv that borrows this Python's packages."""
    top = tmp_path / "checkout"
    listed = ["git", "ls-files", "--cached", "--others", "--exclude-standard"]
    for name in subprocess.run(listed, cwd=ROOT, capture_output=True, text=True, check=True).stdout.splitlines():
        if not name.startswith("tests/bank/attacks/") and (ROOT / name).exists():
            (top / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, top / name)
    _submissions(top)
    return top


def _submissions(top: Path) -> None:
    """Four students: one is right, one took ReLU, one has not begun, one has the softmax over the wrong axis."""
    wrong = {"bob": ("gpt.py", "F.gelu(", "F.relu("), "dee": ("head.py", "dim=-1", "dim=1")}
    sources = {"ada": "reference", "bob": "reference", "cyd": "student", "dee": "reference"}
    for student, source in sources.items():
        folder = top / "submissions" / student
        folder.mkdir(parents=True)
        for name in ("gpt.py", "head.py", "paper.py"):
            shutil.copy(top / source / name, folder)
        if student in wrong:
            name, right, instead = wrong[student]
            (folder / name).write_text((folder / name).read_text("utf-8").replace(right, instead), "utf-8")
    shutil.copy(top / "student" / "paper.py", top / "submissions" / "dee")  # and has not done the exercises on paper


def shell(checkout: Path, command: str) -> str:
    """What this command prints; it has to succeed."""
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
    """In the order of the documents, in one folder, and once where it is shown several times."""
    (checkout / "work").mkdir()
    shell(checkout, "make setup")
    printed: dict[str, str] = {}
    for document in DOCUMENTS:
        found = blocks(document)
        for (language, text), following in zip(found, [*found[1:], ("", "")], strict=True):
            mine = [command for command in commands(text) if language == "sh" and run_here(command)]
            for command in mine:
                if command not in printed:
                    printed[command] = shell(checkout, command)
            if mine and following[0] == "text":
                shown(following[1], "".join(printed[command] for command in mine), document)


def shown(text: str, printed: str, document: str) -> None:
    """Each line of ``text`` is in what was printed; three dots stand for a number, or alone for further lines."""
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
    """The names under which the headings of a Markdown file can be linked to."""
    headings = re.findall(r"^#+ (.+)$", FENCE.sub("", path.read_text("utf-8")), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("document", [*DOCUMENTS, "CHANGELOG.md"])
def test_each_link_leads_somewhere(document: str) -> None:
    text = FENCE.sub("", (ROOT / document).read_text("utf-8"))
    for target in LINK.findall(text):
        if target.startswith(("http:", "https:")):
            continue
        file, _, anchor = target.partition("#")
        path = (ROOT / document).parent / file if file else ROOT / document
        assert path.exists(), f"{document}: {target}"
        assert not anchor or anchor in anchors(path), f"{document}: {target}"


@pytest.mark.parametrize("document", DOCUMENTS)
def test_each_file_that_is_named_is_there(document: str) -> None:
    text = FENCE.sub("", (ROOT / document).read_text("utf-8"))
    tops = "autograder|reference|tests|docker|requirements|bundle|docs"
    for name in re.findall(rf"`((?:{tops})/[\w./-]*)`", text):
        assert (ROOT / name).exists() or (ROOT / f"{name}.py").exists(), f"{document}: {name}"


def test_each_page_is_in_the_table_of_the_readme() -> None:
    linked = set(LINK.findall((ROOT / "README.md").read_text("utf-8")))
    assert {document for document in DOCUMENTS if document.startswith("docs/")} <= linked


def test_the_picture_is_of_a_report_as_it_is_made_now(grade: Callable[..., Report], tmp_path: Path) -> None:
    drawn = picture.draw(grade(picture.two_mistakes(tmp_path / "student")))
    assert picture.PICTURE.read_text("utf-8") == drawn, "python -m tests.picture draws it anew"
    assert "http" not in re.sub(r'xmlns="[^"]*"', "", drawn).replace(
        "<!-- Generated with Rich https://www.textualize.io -->", ""
    )
