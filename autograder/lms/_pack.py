"""Build the zip files to upload or hand out: the grader's files and everything they need."""

from __future__ import annotations

import hashlib
import io
import zipfile
from dataclasses import dataclass
from pathlib import Path

from autograder import secret
from autograder.assignment import ASSIGNMENT
from autograder.files import BadInput

TOP = Path(__file__).resolve().parents[2]
GRADER = ("*.py", "*.toml", "*.json", "*.txt", "*.html", "*.css", "*.js", "*.ipynb")
INSTALL = ("setup.sh", "missing.py", "grade.txt", "torch.txt")
EPOCH = (1980, 1, 1, 0, 0, 0)  # so the same files always give the same bytes
HANDED_OUT = "student/"


class PackError(BadInput):
    """The package cannot be built; the message is one line with a remedy."""


@dataclass(frozen=True, slots=True)
class Entry:
    """A file to write: its bytes and its mode."""

    data: bytes
    mode: int = 0o644


def text(name: str, mode: int = 0o644) -> Entry:
    """Read a text file of the project with LF line ends: CRLF breaks the shebang."""
    try:
        return Entry((TOP / name).read_bytes().replace(b"\r\n", b"\n"), mode)
    except OSError as error:
        raise PackError(f"{TOP / name}: {error.strerror}; build packages from a full checkout of the project") from None


def grader() -> dict[str, Entry]:
    """Return the grader and its installer, without the tests and the reference solution."""
    names = sorted(str(path.relative_to(TOP)) for kind in GRADER for path in (TOP / "autograder").rglob(kind))
    return {name: text(name) for name in ("LICENSE", *(f"requirements/{name}" for name in INSTALL), *names)}


def student() -> dict[str, Entry]:
    """Return the students' folder: the assignment, the grader and how to run it, without any secret.

    Raises PackError if student/ differs from its derived state: it may contain someone's solution.
    """
    lines = text("reference/derived.sha256").data.decode().splitlines()
    derived = {name: digest for digest, name in (line.split("  ", 1) for line in lines) if name.startswith(HANDED_OUT)}
    files = {name: text(name) for name in derived}
    for name, entry in files.items():
        if hashlib.sha256(entry.data).hexdigest() != derived[name]:
            raise PackError(f"{name}: edited, so it may contain a solution; restore it (git checkout {name})")
    own = {name: text(f"bundle/{name}") for name in ("Makefile", "README.md")}
    everything = files | own | grader() | {"pyproject.toml": text("pyproject.toml")}  # which setup.sh reads
    return {f"{ASSIGNMENT.name}/{name}": entry for name, entry in everything.items()}


def new_secret() -> bytes:
    """Return a new secret from the operating system, as a line of text."""
    return secret.draw() + b"\n"


def zipped(entries: dict[str, Entry]) -> bytes:
    """Return a zip file of ``entries`` that keeps their modes even if built on Windows."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, entry in sorted(entries.items()):
            info = zipfile.ZipInfo(name, EPOCH)
            info.create_system = 3  # Unix, or modes are ignored
            info.external_attr = (0o100000 | entry.mode) << 16
            info.compress_type = zipfile.ZIP_DEFLATED
            archive.writestr(info, entry.data)
    return buffer.getvalue()
