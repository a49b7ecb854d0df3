"""Read folders and zip files safely: sizes are bounded, links are not followed, and nothing is unpacked.

Names in them are data, never paths.
"""

from __future__ import annotations

import errno
import io
import os
import stat
import struct
import zipfile
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from autograder.core.text import clean
from autograder.submission import notebook

MAX_FILE = 1 << 20  # bytes
MAX_ZIP = 20 << 20  # bytes
MAX_LISTING = 2 << 20  # bytes of a zip file's directory: some 20,000 entries
MAX_DEPTH = 8  # nested folders that are read; no layout has more
UNLISTED = "unlisted.py"  # stands for the contents of an unreadable folder
LINK = "a link, which is not followed; replace it with the file itself"
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
    """Raised for files that cannot be graded; the message, in one line, says what was found and what to submit."""


@dataclass(frozen=True, slots=True)
class Entry:
    """A file in a folder or zip file: its name as parts, and a function that reads its first bytes.

    That function raises BadSubmission without the name, which callers put in front.
    """

    parts: tuple[str, ...]
    read: Callable[[int], bytes]
    link: bool = False

    @property
    def name(self) -> str:
        return self.parts[-1]

    @property
    def folder(self) -> tuple[str, ...]:
        return self.parts[:-1]

    @property
    def suffix(self) -> str:
        return os.path.splitext(self.name)[1].lower()


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
    if name.lower().endswith(".zip"):
        return MAX_ZIP
    return notebook.MAX_SIZE if name.lower().endswith(".ipynb") else MAX_FILE


def check_size(data: bytes, name: str) -> bytes:
    """Return ``data`` unless it is longer than the limit for a file of that name. Raises BadSubmission."""
    limit = get_size_limit(name)
    if len(data) > limit:
        remedies = {MAX_FILE: "submit only code, which takes just a few kB", MAX_ZIP: "zip only the code"}
        raise BadSubmission(f"larger than {limit >> 20} MB; {remedies.get(limit, 'clear its outputs and save it')}")
    return data


# --- folders ----------------------------------------------------------------------------------------------------------


def walk_folder(root: Path) -> Iterator[Entry]:
    """Yield the files in a folder and the folders below it. Raises OSError if it cannot be listed.

    Litter is not read, but a folder that contains nothing else is still somebody's: below the top, its name is yielded.
    """
    folders: list[tuple[str, ...]] = [()]
    while folders:
        inside = folders.pop()
        try:
            listed = list(os.scandir(os.path.join(root, *inside)))
        except OSError:
            if not inside:
                raise
            yield Entry((*inside, UNLISTED), _fail_to_list)
            continue
        for one in listed:
            parts = (*inside, one.name)
            if is_litter(one.name):
                if inside:
                    yield Entry(parts, _refuse_litter)
            elif not one.is_dir(follow_symlinks=False) or is_python(one.name) or is_notebook(one.name):
                yield Entry(parts, partial(read_file, root, parts), one.is_symlink())
            elif len(inside) < MAX_DEPTH:
                folders.append(parts)


def _fail_to_list(limit: int) -> bytes:
    raise BadSubmission("a folder that cannot be listed; make it readable")


def _refuse_litter(limit: int) -> bytes:
    raise BadSubmission("not part of a submission; submit the code")


def read_file(root: Path, parts: tuple[str, ...], limit: int) -> bytes:
    """Read ``limit`` + 1 bytes of a regular file below ``root``; links and devices raise BadSubmission."""
    try:
        fd = _open_below(root, parts)
    except OSError as error:
        if error.errno == errno.ELOOP:
            raise BadSubmission(LINK) from None
        raise BadSubmission(f"{error.strerror}; make it readable") from None
    if not stat.S_ISREG(os.fstat(fd).st_mode):
        os.close(fd)
        raise BadSubmission("not a regular file; replace it with the file itself")
    with open(fd, "rb") as file:
        try:
            return file.read(limit + 1)
        except OSError as error:
            raise BadSubmission(f"{error.strerror}; save it again") from None


def _open_below(root: Path, parts: tuple[str, ...]) -> int:
    """Open a file relative to open folders, so that no link is followed even if one replaces a folder meanwhile."""
    *folders, name = parts
    at = os.open(root, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        for folder in folders:
            below = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC | os.O_NOFOLLOW, dir_fd=at)
            os.close(at)
            at = below
        return os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, dir_fd=at)
    finally:
        os.close(at)


# --- zip files --------------------------------------------------------------------------------------------------------


class _Archive(io.BytesIO):
    """A zip file that refuses an oversized directory, since each entry costs a hundred times its bytes in memory."""

    is_listed = False

    def read(self, size: int | None = -1, /) -> bytes:
        if not self.is_listed and size is not None and size > MAX_LISTING:
            raise BadSubmission("too many files in it; zip only the code")
        return super().read(size)


def list_zip(data: bytes) -> list[Entry]:
    """List the files in a zip file. Nothing is unpacked to disk. Raises BadSubmission."""
    file = _Archive(data)
    try:
        archive = zipfile.ZipFile(file)
    except UNREADABLE:
        raise BadSubmission("not a readable zip file; create it again") from None
    file.is_listed = True
    return list(walk_zip(archive))


def walk_zip(archive: zipfile.ZipFile) -> Iterator[Entry]:
    """Yield the files in a zip file, as for a folder."""
    seen = set()
    for info in archive.infolist():
        parts = tuple(part for part in info.filename.replace("\\", "/").split("/") if part)
        litter = next((number for number, part in enumerate(parts) if is_litter(part)), None)
        if litter is None:
            if parts and not info.is_dir():
                yield Entry(parts, partial(_read_member, archive, info), _is_link(info))
        elif litter and (name := parts[: litter + 1]) not in seen:
            seen.add(name)
            yield Entry(name, _refuse_litter)


def _is_link(info: zipfile.ZipInfo) -> bool:
    return stat.S_ISLNK(info.external_attr >> 16)


def _read_member(archive: zipfile.ZipFile, info: zipfile.ZipInfo, limit: int) -> bytes:
    if _is_link(info):
        raise BadSubmission(LINK)
    if info.flag_bits & 1:
        raise BadSubmission("encrypted; create the zip file without a password")
    # Other methods could need gigabytes of memory before the first byte.
    if info.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        raise BadSubmission("unusual compression method; create the zip file with standard settings")
    try:
        with archive.open(info) as file:
            return file.read(limit + 1)
    except UNREADABLE:
        raise BadSubmission("damaged inside the zip file; create it again") from None
