"""Pack the zip file that a student uploads, and list unfinished work. Only an empty folder is refused."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from autograder.core.assignment import NOTEBOOK, Assignment
from autograder.core.atomic import write_whole
from autograder.core.errors import BadInput
from autograder.core.zip_writer import Entry, zip_entries
from autograder.grading import rubric
from autograder.submission.archive import BadSubmission
from autograder.submission.read import Submission, read_submission
from autograder.workbench import history as runs
from autograder.workbench.answers import ANSWERS, describe_missing, name_form, read_answers

SUFFIXES = (".py", ".ipynb")


@dataclass(frozen=True, slots=True)
class Package:
    """The files in the zip file, and notes for the student to read before uploading it."""

    files: dict[str, bytes]
    unchanged: tuple[str, ...]
    lines: tuple[str, ...]
    trouble: str = ""  # the reason for which this cannot be graded


def pack(assignment: Assignment, path: Path, target: Path, history: Path | None) -> Package:
    """Pack the work at ``path`` into the zip file ``target``. Raises BadInput if there is nothing to submit."""
    found = _find_files(path, assignment)
    notes, trouble = [], ""
    kept, sha256 = dict(found), ""
    try:
        read = read_submission(path, assignment)
    except BadSubmission as error:
        trouble = f"This cannot be graded: {error}."
    else:
        sha256 = read.sha256
        kept = _select_work(found, read)
    form = name_form(kept)
    if form not in kept:
        notes.append(f"{ANSWERS} is missing, and with it the written answers.")
    else:
        notes += [f"To do in {line}." for line in describe_missing(read_answers(assignment, kept), form)]
    notes += _describe_last_run(runs.load(history, path, rubric.load(assignment).version) if history else None, sha256)
    write_whole(target, zip_entries({name: Entry(data) for name, data in kept.items()}))
    return Package(kept, tuple(name for name in found if name not in kept), tuple(notes), trouble)


def _find_files(path: Path, assignment: Assignment) -> dict[str, bytes]:
    """Return the files at ``path`` that can be submitted, in the order of the handout."""
    if not path.is_dir():
        places = [path]
    else:
        places = [p for p in sorted(path.iterdir()) if p.suffix in SUFFIXES or p.name == ANSWERS]
        places = [p for p in places if p.is_file() and not p.is_symlink() and not p.name.startswith(".")]
    given = sorted(entry.name for entry in assignment.handed_out.glob("*.py"))
    order = [*assignment.contract.files, *given, ANSWERS]
    places.sort(key=lambda p: order.index(p.name) if p.name in order else len(order))
    try:
        found = {p.name: p.read_bytes() for p in places}
    except OSError as error:
        raise BadInput(f"{path}: {error.strerror}; give the folder with your work, such as student") from None
    if not found:
        raise BadInput(f"{path}: nothing to submit: no .py file, no notebook; give the folder with your work")
    return found


def _select_work(found: dict[str, bytes], read: Submission) -> dict[str, bytes]:
    """Return the graded files, wherever they were found, and the answers; a notebook keeps its text and outputs."""
    kept = {
        name: data
        for name, data in found.items()
        if name == ANSWERS or name in read.names or (name.endswith(".ipynb") and NOTEBOOK in read.names)
    }
    graded = {name: read.files[name] for name in read.names if name.endswith(".py")}
    return kept | {name: data for name, data in graded.items() if name not in kept}


def find_answers_left(assignment: Assignment, path: Path) -> list[str]:
    """Return a line for the written questions at ``path`` that are not answered; none if that is not known."""
    if not path.is_dir():
        return []
    try:
        read = read_submission(path, assignment)
        kept = _select_work(_find_files(path, assignment), read)
    except (BadInput, BadSubmission):
        return []
    return describe_missing(read_answers(assignment, kept), name_form(kept))


def _describe_last_run(history: runs.History | None, sha256: str) -> list[str]:
    last = history.whole if history else None
    if last is None:
        return ["Not graded yet: run make grade."]
    if last.sha256 != sha256:
        return [f"Changed since the last run ({last.score:g} of {last.max_score:g} points): run make grade."]
    notes = [f"This code scored {last.score:g} of {last.max_score:g} points in the last run."]
    notes += last.warnings
    if last.not_implemented:
        notes.append(f"Not implemented yet: {', '.join(last.not_implemented)}.")
    return notes
