"""Collect the files that packages contain: the grader for a platform, the assignment for students."""

from __future__ import annotations

import hashlib

from autograder.core.assignment import DEFAULT, Assignment
from autograder.core.errors import BadInput
from autograder.core.paths import PACKAGE, ROOT
from autograder.core.zip_writer import Entry
from autograder.grading import secret

PATTERNS = ("*.py", "*.toml", "*.json", "*.txt", "*.html", "*.css", "*.js", "*.ipynb", "*.md")
INSTALLER = ("setup.sh", "missing.py", "grade.txt", "torch.txt")
HANDED_OUT = "student/"


class PackError(BadInput):
    """The package cannot be built; the message is one line with a remedy."""


def read_text(name: str, mode: int = 0o644) -> Entry:
    """Read a text file of the project with LF line ends: CRLF breaks the shebang."""
    try:
        return Entry((ROOT / name).read_bytes().replace(b"\r\n", b"\n"), mode)
    except OSError as error:
        raise PackError(
            f"{ROOT / name}: {error.strerror}; build packages from a full checkout of the project"
        ) from None


def collect_grader(assignment: Assignment) -> dict[str, Entry]:
    """Return the grader, the assignment and the installer, without the tests and the reference solution."""
    folder = assignment.folder
    if not folder.is_relative_to(ROOT):
        raise PackError(f"{folder}: outside {ROOT}; move the assignment's package there")
    paths = {path for top in (PACKAGE, folder) for kind in PATTERNS for path in top.rglob(kind)}
    paths |= {path for parent in folder.parents if (path := parent / "__init__.py").is_file()}
    names = sorted(str(path.relative_to(ROOT)) for path in paths)
    return {name: read_text(name) for name in ("LICENSE", *(f"requirements/{name}" for name in INSTALLER), *names)}


def collect_student(assignment: Assignment) -> dict[str, Entry]:
    """Return the students' folder: the assignment, the grader and how to run it, without any secret.

    Raises PackError if student/ differs from its derived state: it may contain someone's solution.
    """
    if assignment.module != DEFAULT:
        raise PackError(f"package student: only {DEFAULT} has a folder {HANDED_OUT}; hand out {assignment.stubs}")
    lines = read_text("reference/derived.sha256").data.decode().splitlines()
    derived = {name: digest for digest, name in (line.split("  ", 1) for line in lines) if name.startswith(HANDED_OUT)}
    files = {name: read_text(name) for name in derived}
    for name, entry in files.items():
        if hashlib.sha256(entry.data).hexdigest() != derived[name]:
            raise PackError(f"{name}: edited, so it may contain a solution; restore it (git checkout {name})")
    own = {name: read_text(f"bundle/{name}") for name in ("Makefile", "README.md")}
    needed_by_setup = {"pyproject.toml": read_text("pyproject.toml")}
    everything = files | own | collect_grader(assignment) | needed_by_setup
    return {f"{assignment.name}/{name}": entry for name, entry in everything.items()}


def make_secret() -> bytes:
    """Return a new secret from the operating system, as a line of text."""
    return secret.draw() + b"\n"
