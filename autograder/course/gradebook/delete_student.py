"""Delete a student's data from a gradebook folder."""

from __future__ import annotations

from autograder.course.gradebook.records import Student
from autograder.course.gradebook.store import Gradebook
from autograder.course.intake import collect


def delete_student(book: Gradebook, student: Student) -> int:
    """Delete all data on ``student``; return how many others submitted the same sources, which are then kept."""
    with book.transaction():
        deleted = book.delete_student(student)
    for path in [
        *(book.folder / "reports" / f"{student.alias}{suffix}" for suffix in (".html", ".md")),
        *(book.folder / "results" / name for name in deleted.documents),
        *(collect.source_path(book.folder / "submissions", sha256) for sha256 in deleted.hashes),
    ]:
        path.unlink(missing_ok=True)
    book.purge_deleted_rows()
    return deleted.sharing
