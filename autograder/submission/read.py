"""Read a Submission from a path: bytes and names. Nothing is executed, parsed or unpacked to disk."""

from __future__ import annotations

import codecs
import contextlib
import hashlib
import io
import tokenize
from dataclasses import dataclass
from pathlib import Path

from autograder.core.assignment import NOTEBOOK, Assignment
from autograder.core.text import clean
from autograder.submission import notebook
from autograder.submission.archive import (
    BadSubmission,
    SourceFile,
    is_notebook,
    is_python,
    list_folder,
    list_zip,
    make_printable,
    read_source,
)
from autograder.submission.notebook import BadNotebook

MAX_FILES = 50
MAX_NOTEBOOKS = 10
# Only encodings that decode in linear time; some of Python's codecs do not.
ENCODINGS = {"utf-8", "utf-8-sig", "ascii", "iso8859-1", "iso8859-15", "cp1250", "cp1251", "cp1252"}


@dataclass(frozen=True, slots=True)
class Submission:
    """The files that one student submitted, plus any given files that are missing."""

    id: str
    format: str
    files: dict[str, bytes]
    names: tuple[str, ...]  # the names of the submitted files
    sha256: str


def read_submission(path: Path, assignment: Assignment) -> Submission:
    """Read the submission at ``path``: a Python file, a notebook, or a folder or zip file that contains one.

    In a folder or zip file, the main file or the notebook may also be one level down. Raises BadSubmission.
    """
    shown = make_printable(str(path))
    main = assignment.contract.file
    try:
        # The path itself may be a link; files inside a folder or zip file may not.
        real = path.resolve(strict=True)
        with contextlib.ExitStack() as stack:
            if real.is_dir():
                format, files = "folder", choose_files(shown, list_folder(real, shown, stack), assignment)
            elif real.suffix.lower() == ".zip":
                format, files = "zip", choose_files(shown, list_zip(real, shown, stack), assignment)
            elif real.suffix.lower() == ".py":
                format, files = "file", {main: _check_text(read_source(str(real), None, shown), shown)}
            elif real.suffix.lower() == ".ipynb":
                cells = _read_cells(read_source(str(real), None, shown), shown)
                format, files = "notebook", {NOTEBOOK: notebook.write(cells)}
            else:
                raise BadSubmission(
                    f"{shown}: not a folder or a .py, .ipynb or .zip file; submit {main} or a folder that contains it"
                )
    except OSError as error:
        raise BadSubmission(
            f"{shown}: {error.strerror}; give a {main}, a notebook, or a folder or zip file that contains one"
        ) from None
    return make_submission(files, assignment, make_printable(real.name if format == "folder" else real.stem), format)


def make_submission(
    files: dict[str, bytes], assignment: Assignment, name: str = NOTEBOOK, format: str = "notebook"
) -> Submission:
    """Make a submission from its files, one of which is the main file or the notebook."""
    digest = hashlib.sha256()
    for file, data in sorted(files.items()):
        digest.update(f"{file}\0{len(data)}\0".encode("utf-8", "surrogateescape") + data)
    given = {entry.name: entry.read_bytes() for entry in assignment.handed_out.glob("*.py") if entry.name not in files}
    return Submission(name, format, given | files, tuple(sorted(map(make_printable, files))), digest.hexdigest())


def choose_files(shown: str, entries: list[SourceFile], assignment: Assignment) -> dict[str, bytes]:
    """Return the files of the one folder that contains the main file or the notebook.

    Of several candidates, unedited handed-out files and scratch notebooks do not count.
    """
    main_file, stubs = assignment.contract.file, assignment.stubs
    mains = [entry for entry in entries if entry.name.lower() == main_file]
    notebooks = [entry for entry in entries if is_notebook(entry.name)]
    if not mains and not notebooks:
        others = sorted({make_printable(entry.name) for entry in entries})
        seen = f"only {', '.join(others[:5])}" if others else "no Python file at all"
        raise BadSubmission(f"{shown}: no {main_file}, {seen}; put your classes in a file named {main_file}")
    if len(mains) + len(notebooks) > 1:
        mains, notebooks = _choose_edited(shown, mains, notebooks, assignment)
    main = (mains or notebooks)[0]
    beside = [entry for entry in entries if entry.folder == main.folder and entry is not main and is_python(entry.name)]
    if len(beside) >= MAX_FILES:
        raise BadSubmission(
            f"{shown}: {len(beside) + 1} Python files, but at most {MAX_FILES} are allowed; remove the rest"
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
    shown: str, mains: list[SourceFile], notebooks: list[SourceFile], assignment: Assignment
) -> tuple[list[SourceFile], list[SourceFile]]:
    """Return the one edited candidate, a main file or a notebook. Raises BadSubmission if there are several."""
    contract, stubs = assignment.contract, assignment.stubs
    if len(mains) > MAX_NOTEBOOKS or len(notebooks) > MAX_NOTEBOOKS:
        raise _make_candidates_error(shown, mains or notebooks, contract.file)
    given_main = stubs / contract.file
    edited = [entry for entry in mains if (data := entry.read()).strip() and not _is_unedited(given_main, data)]
    given = [cell for path in stubs.glob("*.ipynb") for cell in notebook.read(path.read_bytes())]
    written: dict[bytes, SourceFile] = {}
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


def _make_candidates_error(shown: str, candidates: list[SourceFile], main: str) -> BadSubmission:
    wanted = main if not any(is_notebook(entry.name) for entry in candidates) else "the file to grade"
    listed = ", ".join(entry.shown for entry in candidates[:5])
    return BadSubmission(
        f"{shown}: {len(candidates)} candidates for {wanted} ({listed}); keep one and move the others away"
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
