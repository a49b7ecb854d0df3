"""Zip files to be uploaded or handed out: the grader's files, and what goes with them."""

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
EPOCH = (1980, 1, 1, 0, 0, 0)  # the same files give the same bytes, whenever they are packed
HANDED_OUT = "student/"


class PackError(BadInput):
    """The package cannot be made; the message is one line with a remedy."""


@dataclass(frozen=True, slots=True)
class Entry:
    """A file to be: its bytes and its mode."""

    data: bytes
    mode: int = 0o644


def text(name: str, mode: int = 0o644) -> Entry:
    """A text file of the project, with line feeds alone: a carriage return after #!/bin/bash is no bash any more."""
    try:
        return Entry((TOP / name).read_bytes().replace(b"\r\n", b"\n"), mode)
    except OSError as error:
        raise PackError(
            f"{TOP / name}: {error.strerror}; packages are made from a full checkout of the project"
        ) from None


def grader() -> dict[str, Entry]:
    """The grader and what installs it, without the tests and the reference solution."""
    names = sorted(str(path.relative_to(TOP)) for kind in GRADER for path in (TOP / "autograder").rglob(kind))
    return {name: text(name) for name in ("LICENSE", *(f"requirements/{name}" for name in INSTALL), *names)}


def student() -> dict[str, Entry]:
    """What students get: the assignment, the grader and how to start it, in one folder. There is no secret in it.

    Raises PackError where student/ is not as it was derived: somebody's solution may be in it.
    """
    lines = text("reference/derived.sha256").data.decode().splitlines()
    derived = {name: digest for digest, name in (line.split("  ", 1) for line in lines) if name.startswith(HANDED_OUT)}
    files = {name: text(name) for name in derived}
    for name, entry in files.items():
        if hashlib.sha256(entry.data).hexdigest() != derived[name]:
            raise PackError(f"{name}: edited, so a solution may be in it; take it back (git checkout {name})")
    own = {name: text(f"bundle/{name}") for name in ("Makefile", "README.md")}
    everything = files | own | grader() | {"pyproject.toml": text("pyproject.toml")}  # which setup.sh reads
    return {f"{ASSIGNMENT.name}/{name}": entry for name, entry in everything.items()}


def new_secret() -> bytes:
    """A secret from the operating system, as a line of text."""
    return secret.draw() + b"\n"


def zipped(entries: dict[str, Entry]) -> bytes:
    """A zip file of ``entries``, which keep their modes also where it is made on Windows."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, entry in sorted(entries.items()):
            info = zipfile.ZipInfo(name, EPOCH)
            info.create_system = 3  # Unix: only then are modes read
            info.external_attr = (0o100000 | entry.mode) << 16
            info.compress_type = zipfile.ZIP_DEFLATED
            archive.writestr(info, entry.data)
    return buffer.getvalue()
