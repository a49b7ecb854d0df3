"""Read a Submission from a path: bytes and names. Nothing is executed, parsed or unpacked to disk."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from functools import partial
from itertools import islice
from pathlib import Path

from autograder.core.assignment import NOTEBOOK, Assignment
from autograder.submission.archive import BadSubmission, Entry, make_printable, read_file, walk_folder
from autograder.submission.choose import MAX_ENTRIES, choose_files, choose_single

FORMATS = {".zip": "zip", ".ipynb": "notebook"}


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

    Raises BadSubmission.
    """
    shown = make_printable(str(path))
    main = assignment.contract.file
    try:
        # The path itself may be a link; files inside a folder or zip file may not.
        real = path.resolve(strict=True)
        if real.is_dir():
            format, files = "folder", choose_files(shown, list(islice(walk_folder(real), MAX_ENTRIES + 1)), assignment)
        else:
            entry = Entry((path.name,), partial(read_file, real.parent, (real.name,)))
            format = FORMATS.get(entry.suffix, "file")
            files = choose_single(shown.rpartition("/")[0], entry, assignment)
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
