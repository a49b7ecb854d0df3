"""Read folders and zip files safely: sizes are bounded, links are not followed, and nothing is unpacked.

Names in them are data, never paths.
"""

from __future__ import annotations

import contextlib
import errno
import io
import os
import stat
import struct
import zipfile
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from autograder.core.text import clean
from autograder.submission import notebook

MAX_FILE = 1 << 20  # bytes
MAX_ZIP = 20 << 20  # bytes
MAX_LISTING = 2 << 20  # bytes of a zip file's directory: some 20,000 entries
UNREADABLE = (
    zipfile.BadZipFile,
    zlib.error,
    EOFError,
    NotImplementedError,
    OSError,
    RuntimeError,
    ValueError,
    struct.error,
)
LITTER = {"__MACOSX", "__pycache__", "node_modules", "venv"}


class BadSubmission(Exception):
    """Raised for files that cannot be graded; the message names the place, the error and the remedy in one line."""


@dataclass(frozen=True, slots=True)
class SourceFile:
    """A Python file or notebook: its folder, its name there, and a function that reads it."""

    folder: str
    name: str
    read: Callable[[], bytes]

    @property
    def shown(self) -> str:
        return f"{self.folder}/{make_printable(self.name)}"


def make_printable(name: str) -> str:
    """Return a file's name in a printable form."""
    return "".join(c if c.isprintable() else "\ufffd" for c in clean(name, 500))


def is_litter(name: str) -> bool:
    """Return whether a name belongs to files that operating systems, editors and platforms leave behind."""
    return name.startswith(".") or name in LITTER


def is_python(name: str) -> bool:
    """Return whether a name is that of a Python file to read."""
    return name.lower().endswith(".py") and not is_litter(name)


def is_notebook(name: str) -> bool:
    """Return whether a name is that of a notebook to read."""
    return name.lower().endswith(".ipynb") and not is_litter(name)


def get_size_limit(name: str) -> int:
    """Return the maximum number of bytes to read from a file called ``name``."""
    return notebook.MAX_SIZE if name.lower().endswith(".ipynb") else MAX_FILE


def check_size(data: bytes, shown: str) -> bytes:
    """Return ``data`` unless it is longer than the limit for a file of that name. Raises BadSubmission."""
    limit = get_size_limit(shown)
    if len(data) > limit:
        remedy = "submit only code, which takes just a few kB" if limit == MAX_FILE else "clear its outputs and save it"
        raise BadSubmission(f"{shown}: larger than {limit >> 20} MB; {remedy}")
    return data


# --- folders ----------------------------------------------------------------------------------------------------------


def list_folder(folder: Path, shown: str, stack: contextlib.ExitStack) -> list[SourceFile]:
    """List the Python files in ``folder`` and one level below, opened relative to open folders: no link is followed."""
    top = _open_folder(str(folder), None, stack)
    below = sorted(entry.name for entry in os.scandir(top) if entry.is_dir(follow_symlinks=False))
    folders = [(shown, top)]
    folders += [(f"{shown}/{make_printable(n)}", _open_folder(n, top, stack)) for n in below if not is_litter(n)]
    return [
        SourceFile(place, name, partial(read_source, name, fd, f"{place}/{make_printable(name)}"))
        for place, fd in folders
        for name in sorted(os.listdir(fd))
        if is_python(name) or is_notebook(name)
    ]


def _open_folder(name: str, parent: int | None, stack: contextlib.ExitStack) -> int:
    fd = os.open(name, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC | os.O_NOFOLLOW, dir_fd=parent)
    stack.callback(os.close, fd)
    return fd


def read_source(name: str, folder: int | None, shown: str) -> bytes:
    """Read a Python file or notebook of at most the allowed size. Raises BadSubmission."""
    return check_size(read_file(name, folder, shown, get_size_limit(name)), shown)


def read_file(name: str, folder: int | None, shown: str, limit: int) -> bytes:
    """Read ``limit`` + 1 bytes of a regular file, in the open ``folder``; links and devices raise BadSubmission."""
    try:
        fd = os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, dir_fd=folder)
    except OSError as error:
        if error.errno == errno.ELOOP:
            raise BadSubmission(f"{shown}: a link, which is not followed; replace it with the file itself") from None
        raise BadSubmission(f"{shown}: {error.strerror}; make it readable") from None
    if not stat.S_ISREG(os.fstat(fd).st_mode):
        os.close(fd)
        raise BadSubmission(f"{shown}: not a regular file; replace it with the file itself")
    with open(fd, "rb") as file:
        try:
            return file.read(limit + 1)
        except OSError as error:
            raise BadSubmission(f"{shown}: {error.strerror}; save it again") from None


# --- zip files --------------------------------------------------------------------------------------------------------


class _Archive(io.BufferedReader):
    """A zip file that refuses an oversized directory, since each entry costs a hundred times its bytes in memory."""

    def read(self, size: int | None = -1, /) -> bytes:
        if size is not None and size > MAX_LISTING:
            raise BadSubmission(f"{make_printable(str(self.name))}: too many files in it; zip only the code")
        return super().read(size)


def list_zip(path: Path, shown: str, stack: contextlib.ExitStack) -> list[SourceFile]:
    """List the Python files in a zip file, at its root and one level down. Nothing is unpacked to disk."""
    if path.stat().st_size > MAX_ZIP:
        raise BadSubmission(f"{shown}: larger than {MAX_ZIP >> 20} MB; zip only the code")
    try:
        file = stack.enter_context(_Archive(io.FileIO(path)))
        archive = stack.enter_context(zipfile.ZipFile(file))
    except UNREADABLE:
        raise BadSubmission(f"{shown}: not a readable zip file; create it again") from None
    found = []
    for info in archive.infolist():
        *folders, name = info.filename.replace("\\", "/").split("/")
        if len(folders) <= 1 and (is_python(name) or is_notebook(name)) and not any(map(is_litter, folders)):
            place = "/".join([shown, *(make_printable(folder) for folder in folders)])
            found.append(SourceFile(place, name, partial(_read_source_member, archive, info, place, name)))
    return found


def _read_source_member(archive: zipfile.ZipFile, info: zipfile.ZipInfo, place: str, name: str) -> bytes:
    shown = f"{place}/{make_printable(name)}"
    return check_size(read_member(archive, info, shown, get_size_limit(name)), shown)


def is_link(info: zipfile.ZipInfo) -> bool:
    """Return whether a zip file's member is a symbolic link."""
    return stat.S_ISLNK(info.external_attr >> 16)


def read_member(archive: zipfile.ZipFile, info: zipfile.ZipInfo, shown: str, limit: int) -> bytes:
    """Read ``limit`` + 1 bytes of a zip file's member. Raises BadSubmission."""
    if is_link(info):
        raise BadSubmission(f"{shown}: a link, which is not followed; replace it with the file itself")
    if info.flag_bits & 1:
        raise BadSubmission(f"{shown}: encrypted; create the zip file without a password")
    # Other methods could need gigabytes of memory before the first byte.
    if info.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        raise BadSubmission(f"{shown}: unusual compression method; create the zip file with standard settings")
    try:
        with archive.open(info) as file:
            return file.read(limit + 1)
    except UNREADABLE:
        raise BadSubmission(f"{shown}: damaged inside the zip file; create it again") from None
