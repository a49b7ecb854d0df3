"""Turn exports into a list of attempts to grade; the sources are stored under their content hash."""

from __future__ import annotations

import io
import tempfile
import zipfile
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from autograder.core.assignment import Assignment
from autograder.core.atomic import write_whole
from autograder.core.text import clean
from autograder.course.intake import downloads
from autograder.course.intake.downloads import CODE, Attempt
from autograder.course.intake.export_files import Entry
from autograder.course.intake.identity import Person, one_line
from autograder.submission import notebook
from autograder.submission.archive import MAX_ZIP, BadSubmission, SourceFile, check_size, get_size_limit, make_printable
from autograder.submission.read import Submission, choose_files, make_submission, read_submission

PLACE = "submission"  # stands for the path of an attempt in messages
MAX_ENTRIES = 200_000  # of one submission
MAX_FILES = 500  # Python files, notebooks and zip files among them


@dataclass(frozen=True, slots=True)
class CollectedAttempt:
    """One person's attempt: the hash of its sources, or the reason they cannot be graded."""

    student: int
    attempt: int  # counted from 1, per student
    latest: bool
    submitted: str
    sha256: str
    trouble: str = ""
    partners: int = 0  # other members of the group


def collect_attempts(
    paths: Iterable[Path],
    store: Path,
    identify: Callable[[Sequence[Person]], list[int]],
    assignment: Assignment,
    nbgrader_name: str | None = None,
    all_attempts: bool = False,
) -> Iterator[CollectedAttempt]:
    """Yield the attempts in all exports and save their sources. Raises BadInput.

    Args:
        paths: folders or archives
        store: the folder for the sources
        identify: returns the ids of the people of one export
        assignment: the assignment, whose contract names the main file
        nbgrader_name: the assignment's folder in nbgrader's submitted/
        all_attempts: yield earlier attempts too
    """
    by_student: dict[int, list[tuple[str, int, Attempt]]] = defaultdict(list)
    for number, path in enumerate(paths):
        found = downloads.read(path, assignment.contract, nbgrader_name)[1]
        numbers = iter(identify([person for attempt in found for person in attempt.people]))
        for attempt in found:
            for student in dict.fromkeys([next(numbers) for _ in attempt.people]):
                by_student[student].append((attempt.order, number, attempt))
    for student, mine in by_student.items():
        mine.sort(key=lambda one: one[:2])
        for count, (_, _, attempt) in enumerate(mine, 1):
            latest = count == len(mine)
            if latest or all_attempts:
                sha256, trouble = _store_sources(attempt, store, assignment)
                yield CollectedAttempt(
                    student, count, latest, one_line(attempt.submitted), sha256, trouble, len(attempt.people) - 1
                )


def _store_sources(attempt: Attempt, store: Path, assignment: Assignment) -> tuple[str, str]:
    """Return (hash, trouble), one of which is empty."""
    try:
        found = read_attempt(attempt, assignment)
        path = source_path(store, found.sha256)
        sources = b"" if path.exists() else archive_sources(found)
    except BadSubmission as error:
        return "", clean(str(error))
    except Exception as error:  # one bad submission must not stop the others
        return "", one_line(
            f"not graded: its files cannot be read; ask for them again ({type(error).__name__}: {error})"
        )
    if sources:
        write_whole(path, sources)
    return found.sha256, ""


def source_path(store: Path, sha256: str) -> Path:
    """Return the path of the sources with this hash."""
    return store / f"{sha256}.zip"


def archive_sources(found: Submission) -> bytes:
    """Zip the submitted files that count, reproducibly."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name in sorted(found.names):
            archive.writestr(zipfile.ZipInfo(name), found.files[name], zipfile.ZIP_DEFLATED)
    return buffer.getvalue()


def read_attempt(attempt: Attempt, assignment: Assignment) -> Submission:
    """Read the submission as `grade` reads a single one. Raises BadSubmission."""
    if attempt.trouble:
        raise BadSubmission(attempt.trouble)
    if len(attempt.files) > MAX_ENTRIES:
        raise BadSubmission(f"more than {MAX_ENTRIES} files; ask for the code alone")
    main = assignment.contract.file
    files = [entry for entry in attempt.files if entry.suffix in CODE and len(entry.parts) <= 2]
    if not attempt.files:
        raise BadSubmission(f"nothing was submitted; ask for {main}")
    if len(files) > MAX_FILES:
        raise BadSubmission(f"{len(files)} files, but at most {MAX_FILES} are allowed; remove the rest")
    zips = [entry for entry in files if entry.suffix == ".zip"]
    if not files and attempt.is_single and len(attempt.files) == 1:
        raise BadSubmission(
            f"{attempt.files[0].suffix or 'no suffix'}: not a folder or a .py, .ipynb or .zip file; ask for {main}"
        )
    chosen = [entry for entry in files if entry not in zips]
    try:
        if len(files) == 1 and (attempt.is_single or files == zips):
            return _read_single(files[0], assignment)
        return make_submission(choose_files(PLACE, _read_sources(chosen), assignment), assignment, PLACE, "folder")
    except BadSubmission as error:
        raise BadSubmission(str(error).removeprefix(f"{PLACE}: ")) from None


def _read_single(entry: Entry, assignment: Assignment) -> Submission:
    """Read one file, whatever its name in the export, as `grade` reads it."""
    with tempfile.TemporaryDirectory(prefix="autograder-") as folder:
        path = Path(folder) / f"{PLACE}{entry.suffix}"
        path.write_bytes(_read_entry(entry))
        try:
            return read_submission(path, assignment)
        except BadSubmission as error:
            line = str(error).removeprefix(f"{path}: ")
            raise BadSubmission(line.replace(f"{path}", PLACE).replace(folder, "")) from None


def _read_sources(entries: list[Entry]) -> list[SourceFile]:
    """Read all of these files at once. Raises BadSubmission if they are too large together."""
    sources, total = [], 0
    for entry in entries:
        data = b"" if entry.link else notebook.strip_outputs(entry.name, entry.read(get_size_limit(entry.name)))
        total += len(data)
        if total > MAX_ZIP:
            raise BadSubmission(f"more than {MAX_ZIP >> 20} MB; ask for the code alone")
        place = "/".join([PLACE, *map(make_printable, entry.parts[:-1])])
        sources.append(SourceFile(place, entry.name, partial(_get_source, data, entry.link, place, entry.name)))
    return sources


def _get_source(data: bytes, is_link: bool, place: str, name: str) -> bytes:
    shown = f"{place}/{make_printable(name)}"
    if is_link:
        raise BadSubmission(f"{shown}: a link, which is not followed; ask for the file itself")
    return check_size(data, shown)


def _read_entry(entry: Entry) -> bytes:
    if entry.link:
        raise BadSubmission(f"{one_line(entry.name)}: a link, which is not followed; ask for the file itself")
    return entry.read(MAX_ZIP if entry.suffix == ".zip" else get_size_limit(entry.name))
