"""From a path to a Submission: bytes and names. Nothing of it is ever executed, parsed or unpacked here."""

from __future__ import annotations

import codecs
import contextlib
import errno
import hashlib
import io
import os
import stat
import tokenize
from dataclasses import dataclass
from pathlib import Path

from autograder.sandbox.wire import clean

MAIN = "gpt.py"
GIVEN = Path(__file__).with_name("given")
MAX_FILE = 1 << 20  # bytes
MAX_FILES = 50
LITTER = {"__MACOSX", "__pycache__", "node_modules", "venv"}
# Only encodings that decode in linear time: some of Python's codecs do not.
ENCODINGS = {"utf-8", "utf-8-sig", "ascii", "iso8859-1", "iso8859-15", "cp1250", "cp1251", "cp1252"}


class BadSubmission(Exception):
    """The path cannot be graded; the message is one line: what is wrong, where, and what to do."""


@dataclass(frozen=True, slots=True)
class Submission:
    """What one student handed in, with the given files added where they are missing."""

    id: str
    form: str
    files: dict[str, bytes]
    handed_in: tuple[str, ...]
    sha256: str


def read(path: Path) -> Submission:
    """The submission at ``path``: gpt.py under any name, or a folder that holds gpt.py, also one level down.

    Raises BadSubmission.
    """
    try:
        name, mode = clean(path.resolve(strict=True).name, 200), path.stat().st_mode
        if stat.S_ISDIR(mode):
            return _submission(name, "folder", _from_folder(path))
        if path.suffix != ".py":
            raise BadSubmission(f"{path}: not a Python file; hand in gpt.py, or a folder that holds it")
        # What the user named may be a link; what a folder holds may not.
        files = {MAIN: _bytes(str(path.resolve()), None, str(path))}
        return _submission(name.removesuffix(".py"), "file", files)
    except OSError as error:
        raise BadSubmission(f"{path}: {error.strerror}; name a gpt.py or a folder that holds one") from None


def _submission(name: str, form: str, files: dict[str, bytes]) -> Submission:
    digest = hashlib.sha256()
    for file, data in sorted(files.items()):
        digest.update(f"{file}\0{len(data)}\0".encode() + data)
    given = {path.name: path.read_bytes() for path in GIVEN.glob("*.py") if path.name not in files}
    return Submission(name, form, given | files, tuple(sorted(files)), digest.hexdigest())


def _from_folder(path: Path) -> dict[str, bytes]:
    """The Python files of the one folder, ``path`` or directly below it, that holds gpt.py."""
    with contextlib.ExitStack() as stack:
        top = _folder(str(path), None, stack, os.O_RDONLY)
        below = sorted(e.name for e in os.scandir(top) if e.is_dir(follow_symlinks=False) and not _litter(e.name))
        places = [(str(path), top)]
        places += [(f"{path}/{clean(name, 200)}", _folder(name, top, stack, os.O_NOFOLLOW)) for name in below]
        found = {place: _python_files(fd) for place, fd in places}
        mains = [(place, fd, name) for place, fd in places for name in found[place] if name.lower() == MAIN]
        if not mains:
            others = sorted({name for names in found.values() for name in names})
            seen = f"only {', '.join(map(clean, others[:5]))}" if others else "no Python file at all"
            raise BadSubmission(f"{path}: no gpt.py, {seen}; put your classes into a file named gpt.py")
        if len(mains) > 1:
            listed = ", ".join(f"{place}/{clean(name)}" for place, _, name in mains)
            raise BadSubmission(f"{path}: {len(mains)} candidates for gpt.py ({listed}); leave one")
        place, fd, main = mains[0]
        if len(found[place]) > MAX_FILES:
            raise BadSubmission(
                f"{place}: {len(found[place])} Python files, at most {MAX_FILES} are read; leave out the others"
            )
        return {MAIN if n == main else n: _bytes(n, fd, f"{place}/{clean(n)}") for n in found[place]}


def _folder(name: str, parent: int | None, stack: contextlib.ExitStack, flags: int) -> int:
    fd = os.open(name, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC | flags, dir_fd=parent)
    stack.callback(os.close, fd)
    return fd


def _python_files(folder: int) -> list[str]:
    return sorted(name for name in os.listdir(folder) if name.endswith((".py", ".PY")) and not _litter(name))


def _litter(name: str) -> bool:
    """What operating systems and editors leave beside a student's files."""
    return name.startswith(".") or name in LITTER


def _bytes(name: str, folder: int | None, shown: str) -> bytes:
    """One file, read once and bounded; neither a link nor a device. gpt.py must be text with something in it."""
    try:
        fd = os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, dir_fd=folder)
    except OSError as error:
        if error.errno == errno.ELOOP:
            raise BadSubmission(f"{shown}: a link, which is not followed; hand in the file itself") from None
        raise BadSubmission(f"{shown}: {error.strerror}; make it readable") from None
    with open(fd, "rb") as file:
        if not stat.S_ISREG(os.fstat(fd).st_mode):
            raise BadSubmission(f"{shown}: not a regular file; hand in the file itself")
        data = file.read(MAX_FILE + 1)
    if len(data) > MAX_FILE:
        raise BadSubmission(f"{shown}: larger than {MAX_FILE >> 20} MB; a gpt.py has a few kB, hand in the code alone")
    if name.lower().endswith(MAIN) or folder is None:
        _readable(data, shown)
    return data


def _readable(data: bytes, shown: str) -> None:
    if not data.strip():
        raise BadSubmission(f"{shown}: empty; save your work into it and hand it in again")
    if data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        raise BadSubmission(f"{shown}: saved as UTF-16; save it as UTF-8")
    if b"\0" in data:
        raise BadSubmission(f"{shown}: holds NUL bytes, so it is not Python text; export or save it again")
    try:
        encoding, _ = tokenize.detect_encoding(io.BytesIO(data).readline)
        if codecs.lookup(encoding).name not in ENCODINGS:
            raise BadSubmission(f"{shown}: declares the encoding {clean(encoding, 40)}; save it as UTF-8")
        data.decode(encoding)
    except (SyntaxError, UnicodeDecodeError):
        raise BadSubmission(f"{shown}: not readable as text in its encoding; save it as UTF-8") from None
