"""Read a Submission from a path: bytes and names. Nothing is executed, parsed or unpacked to disk."""

from __future__ import annotations

import codecs
import contextlib
import errno
import hashlib
import io
import os
import stat
import struct
import tokenize
import zipfile
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from autograder.core.assignment import NOTEBOOK, Assignment
from autograder.core.text import clean
from autograder.submission import notebook
from autograder.submission.notebook import BadNotebook

MAX_FILE = 1 << 20  # bytes
MAX_FILES = 50
MAX_NOTEBOOKS = 10
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
# Only encodings that decode in linear time; some of Python's codecs do not.
ENCODINGS = {"utf-8", "utf-8-sig", "ascii", "iso8859-1", "iso8859-15", "cp1250", "cp1251", "cp1252"}


class BadSubmission(Exception):
    """Raised for a path that cannot be graded; the message names the place, the error and the remedy in one line."""


@dataclass(frozen=True, slots=True)
class Submission:
    """The files that one student submitted, plus any given files that are missing."""

    id: str
    format: str
    files: dict[str, bytes]
    names: tuple[str, ...]  # of the submitted files
    sha256: str


@dataclass(frozen=True, slots=True)
class _Entry:
    """A Python file or notebook: its folder, its name there, and a function that reads it."""

    place: str
    name: str
    read: Callable[[], bytes]

    @property
    def shown(self) -> str:
        return f"{self.place}/{_make_printable(self.name)}"


def read_submission(path: Path, assignment: Assignment) -> Submission:
    """Read the submission at ``path``: a Python file, a notebook, or a folder or zip file that contains one.

    In a folder or zip file, the main file or the notebook may also be one level down. Raises BadSubmission.
    """
    shown = _make_printable(str(path))
    main = assignment.contract.file
    try:
        # The path itself may be a link; files inside a folder or zip file may not.
        real = path.resolve(strict=True)
        with contextlib.ExitStack() as stack:
            if real.is_dir():
                format, files = "folder", _choose_files(shown, _list_folder(real, shown, stack), assignment)
            elif real.suffix.lower() == ".zip":
                format, files = "zip", _choose_files(shown, _list_zip(real, shown, stack), assignment)
            elif real.suffix.lower() == ".py":
                format, files = "file", {main: _check_text(_read_file(str(real), None, shown), shown)}
            elif real.suffix.lower() == ".ipynb":
                format, files = (
                    "notebook",
                    {NOTEBOOK: notebook.write(_read_cells(_read_file(str(real), None, shown), shown))},
                )
            else:
                raise BadSubmission(
                    f"{shown}: not a folder or a .py, .ipynb or .zip file; submit {main} or a folder that contains it"
                )
    except OSError as error:
        raise BadSubmission(
            f"{shown}: {error.strerror}; give a {main}, a notebook, or a folder or zip file that contains one"
        ) from None
    return make_submission(files, assignment, _make_printable(real.name if format == "folder" else real.stem), format)


def make_submission(
    files: dict[str, bytes], assignment: Assignment, name: str = NOTEBOOK, format: str = "notebook"
) -> Submission:
    """Make a submission from its files, one of which is the main file or the notebook."""
    digest = hashlib.sha256()
    for file, data in sorted(files.items()):
        digest.update(f"{file}\0{len(data)}\0".encode("utf-8", "surrogateescape") + data)
    given = {entry.name: entry.read_bytes() for entry in assignment.handed_out.glob("*.py") if entry.name not in files}
    return Submission(name, format, given | files, tuple(sorted(map(_make_printable, files))), digest.hexdigest())


def _choose_files(shown: str, entries: list[_Entry], assignment: Assignment) -> dict[str, bytes]:
    """Return the files of the one folder that contains the main file or the notebook.

    Of several candidates, unedited handed-out files and scratch notebooks do not count.
    """
    main_file, stubs = assignment.contract.file, assignment.stubs
    mains = [entry for entry in entries if entry.name.lower() == main_file]
    notebooks = [entry for entry in entries if _is_notebook(entry.name)]
    if not mains and not notebooks:
        others = sorted({_make_printable(entry.name) for entry in entries})
        seen = f"only {', '.join(others[:5])}" if others else "no Python file at all"
        raise BadSubmission(f"{shown}: no {main_file}, {seen}; put your classes in a file named {main_file}")
    if len(mains) + len(notebooks) > 1:
        mains, notebooks = _choose_edited(shown, mains, notebooks, assignment)
    main = (mains or notebooks)[0]
    beside = [entry for entry in entries if entry.place == main.place and entry is not main and _is_python(entry.name)]
    if len(beside) >= MAX_FILES:
        raise BadSubmission(
            f"{shown}: {len(beside) + 1} Python files, at most {MAX_FILES} are allowed; remove the rest"
        )
    # Python cannot import a file with any other name.
    files = {entry.name: entry.read() for entry in beside if entry.name[:-3].isidentifier()}
    if mains:
        return {main_file: _check_text(main.read(), main.shown)} | files
    # Unedited handed-out files must not hide the notebook's definitions.
    files = {
        name: data for name, data in files.items() if name.lower() != main_file and not _is_unedited(stubs / name, data)
    }
    return {NOTEBOOK: notebook.write(_read_cells(main.read(), main.shown))} | files


def _choose_edited(
    shown: str, mains: list[_Entry], notebooks: list[_Entry], assignment: Assignment
) -> tuple[list[_Entry], list[_Entry]]:
    """Return the one edited candidate, a main file or a notebook. Raises BadSubmission if there are several."""
    contract, stubs = assignment.contract, assignment.stubs
    if len(mains) > MAX_NOTEBOOKS or len(notebooks) > MAX_NOTEBOOKS:
        raise _make_candidates_error(shown, mains or notebooks, contract.file)
    given_main = stubs / contract.file
    edited = [entry for entry in mains if (data := entry.read()).strip() and not _is_unedited(given_main, data)]
    given = [cell for path in stubs.glob("*.ipynb") for cell in notebook.read(path.read_bytes())]
    written: dict[bytes, _Entry] = {}
    broken: list[BadSubmission] = []
    for entry in notebooks:
        try:
            cells = _read_cells(entry.read(), entry.shown)
        except BadSubmission as error:
            broken.append(error)
            continue
        if notebook.has_work(cells, given, contract.names):
            written.setdefault(notebook.write(cells), entry)  # copies count once
    work = [*edited, *written.values()]
    if not work and broken:
        raise broken[0]
    work = work or mains or notebooks
    if len(work) > 1:
        raise _make_candidates_error(shown, work, contract.file)
    return [entry for entry in work if entry in mains], [entry for entry in work if entry in notebooks]


def _make_candidates_error(shown: str, candidates: list[_Entry], main: str) -> BadSubmission:
    wanted = main if not any(_is_notebook(entry.name) for entry in candidates) else "the file to grade"
    listed = ", ".join(entry.shown for entry in candidates[:5])
    return BadSubmission(
        f"{shown}: {len(candidates)} candidates for {wanted} ({listed}); keep one, move the others away"
    )


def _is_unedited(stub: Path, data: bytes) -> bool:
    """Return whether a file equals the handed-out ``stub``, ignoring trailing blanks."""
    return stub.is_file() and [*map(bytes.rstrip, data.splitlines())] == [
        *map(bytes.rstrip, stub.read_bytes().splitlines())
    ]


def _read_cells(data: bytes, shown: str) -> list[str]:
    """Return the code of a notebook."""
    try:
        return notebook.read(data)
    except BadNotebook as error:
        raise BadSubmission(f"{shown}: {error}") from None


def _make_printable(name: str) -> str:
    """Return a file's name in a printable form."""
    return "".join(c if c.isprintable() else "\ufffd" for c in clean(name, 500))


def _is_litter(name: str) -> bool:
    """Return whether a name belongs to files that operating systems and editors leave behind."""
    return name.startswith(".") or name in LITTER


def _is_python(name: str) -> bool:
    return name.lower().endswith(".py") and not _is_litter(name)


def _is_notebook(name: str) -> bool:
    return name.lower().endswith(".ipynb") and not _is_litter(name)


# --- folders ----------------------------------------------------------------------------------------------------------


def _list_folder(folder: Path, shown: str, stack: contextlib.ExitStack) -> list[_Entry]:
    """List the Python files in ``folder`` and one level below, opened relative to open folders: no link is followed."""
    top = _open_folder(str(folder), None, stack)
    below = sorted(entry.name for entry in os.scandir(top) if entry.is_dir(follow_symlinks=False))
    places = [(shown, top)]
    places += [(f"{shown}/{_make_printable(n)}", _open_folder(n, top, stack)) for n in below if not _is_litter(n)]
    return [
        _Entry(place, name, partial(_read_file, name, fd, f"{place}/{_make_printable(name)}"))
        for place, fd in places
        for name in sorted(os.listdir(fd))
        if _is_python(name) or _is_notebook(name)
    ]


def _open_folder(name: str, parent: int | None, stack: contextlib.ExitStack) -> int:
    fd = os.open(name, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC | os.O_NOFOLLOW, dir_fd=parent)
    stack.callback(os.close, fd)
    return fd


def _read_file(name: str, folder: int | None, shown: str) -> bytes:
    """Read a regular file once, up to its cap; refuse links and devices."""
    try:
        fd = os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, dir_fd=folder)
    except OSError as error:
        if error.errno == errno.ELOOP:
            raise BadSubmission(f"{shown}: a link, which is not followed; submit the file itself") from None
        raise BadSubmission(f"{shown}: {error.strerror}; make it readable") from None
    if not stat.S_ISREG(os.fstat(fd).st_mode):
        os.close(fd)
        raise BadSubmission(f"{shown}: not a regular file; submit the file itself")
    with open(fd, "rb") as file:
        return _check_size(file.read(get_size_limit(name) + 1), shown)


def get_size_limit(name: str) -> int:
    """Return the largest number of bytes read of a file."""
    return notebook.MAX_SIZE if name.lower().endswith(".ipynb") else MAX_FILE


def _check_size(data: bytes, shown: str) -> bytes:
    most = get_size_limit(shown)
    if len(data) > most:
        remedy = "clear its outputs and save it"
        if most == MAX_FILE:
            remedy = "submit only code, which has a few kB"
        raise BadSubmission(f"{shown}: larger than {most >> 20} MB; {remedy}")
    return data


# --- zip files --------------------------------------------------------------------------------------------------------


class _Archive(io.BufferedReader):
    """A zip file that refuses an oversized directory, since each entry costs a hundred times its bytes in memory."""

    def read(self, size: int | None = -1, /) -> bytes:
        if size is not None and size > MAX_LISTING:
            raise BadSubmission(f"{_make_printable(str(self.name))}: too many files in it; zip only the code")
        return super().read(size)


def _list_zip(path: Path, shown: str, stack: contextlib.ExitStack) -> list[_Entry]:
    """List the Python files in a zip file, at its root and one level down. Nothing is unpacked to disk."""
    if path.stat().st_size > MAX_ZIP:
        raise BadSubmission(f"{shown}: larger than {MAX_ZIP >> 20} MB; zip only the code")
    try:
        file = stack.enter_context(_Archive(io.FileIO(path)))
        archive = stack.enter_context(zipfile.ZipFile(file))
    except UNREADABLE:
        raise BadSubmission(f"{shown}: not a readable zip file; create it again") from None
    entries = []
    for info in archive.infolist():
        *folders, name = info.filename.replace("\\", "/").split("/")
        if len(folders) <= 1 and (_is_python(name) or _is_notebook(name)) and not any(map(_is_litter, folders)):
            place = "/".join([shown, *(_make_printable(folder) for folder in folders)])
            entries.append(
                _Entry(place, name, partial(_read_member, archive, info, f"{place}/{_make_printable(name)}"))
            )
    return entries


def _read_member(archive: zipfile.ZipFile, info: zipfile.ZipInfo, shown: str) -> bytes:
    if stat.S_ISLNK(info.external_attr >> 16):
        raise BadSubmission(f"{shown}: a link, which is not followed; zip the file itself")
    if info.flag_bits & 1:
        raise BadSubmission(f"{shown}: encrypted; create the zip file without a password")
    # Other methods could need gigabytes of memory before the first byte.
    if info.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        raise BadSubmission(f"{shown}: unusual compression method; create the zip file with standard settings")
    try:
        with archive.open(info) as file:
            return _check_size(file.read(get_size_limit(shown) + 1), shown)
    except UNREADABLE:
        raise BadSubmission(f"{shown}: damaged inside the zip file; create it again") from None


# --- text -------------------------------------------------------------------------------------------------------------


def _check_text(data: bytes, shown: str) -> bytes:
    """Return ``data`` if it is non-empty text, else raise BadSubmission."""
    if not data.strip():
        raise BadSubmission(f"{shown}: empty; save your work in it and submit it again")
    if data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        raise BadSubmission(f"{shown}: saved as UTF-16; save it as UTF-8")
    if b"\0" in data:
        raise BadSubmission(f"{shown}: contains NUL bytes, so it is not Python code; export or save it again")
    try:
        encoding, _ = tokenize.detect_encoding(io.BytesIO(data).readline)
        if codecs.lookup(encoding).name not in ENCODINGS:
            raise BadSubmission(f"{shown}: declares the encoding {clean(encoding, 40)}; save it as UTF-8")
        data.decode(encoding)
    except (SyntaxError, UnicodeDecodeError):
        raise BadSubmission(f"{shown}: cannot be decoded in its encoding; save it as UTF-8") from None
    return data
