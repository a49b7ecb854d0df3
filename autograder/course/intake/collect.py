"""Turn exports into a list of attempts to grade; the sources are stored under their content hash."""

from __future__ import annotations

import io
import zipfile
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from autograder.core.assignment import Assignment
from autograder.core.atomic import write_whole
from autograder.core.text import clean
from autograder.course.intake import downloads
from autograder.course.intake.downloads import CODE, Attempt
from autograder.course.intake.identity import Person, one_line
from autograder.submission.archive import BadSubmission, make_printable
from autograder.submission.choose import choose_files, choose_single
from autograder.submission.read import Submission, make_submission

PLACE = "submission"  # stands for the path of an attempt in messages


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
    """Read the submission by the rules of `grade`. Raises BadSubmission."""
    if attempt.trouble:
        raise BadSubmission(attempt.trouble)
    if not attempt.files:
        raise BadSubmission(f"nothing was submitted; ask for {assignment.contract.file}")
    sources = [entry for entry in attempt.files if entry.suffix in CODE] or attempt.files
    if not attempt.is_single or len(sources) > 1:
        return make_submission(choose_files("", attempt.files, assignment), assignment, PLACE, "folder")
    name = make_printable(sources[0].name)  # a student's, perhaps
    try:
        return make_submission(choose_single("", sources[0], assignment), assignment, PLACE, "folder")
    except BadSubmission as error:
        raise BadSubmission(str(error).removeprefix(f"{name}: ").removeprefix(f"{name}/")) from None
