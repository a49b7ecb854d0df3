"""Delete a student's data from a gradebook folder."""

from __future__ import annotations

import sqlite3

from autograder.course.gradebook.store import Gradebook
from autograder.course.intake import collect


def delete_student(book: Gradebook, student: sqlite3.Row) -> int:
    """Delete all data on ``student``; return how many others share the same sources, which then stay."""
    own, alias = student["id"], student["alias"]
    hashes = [row["sha256"] for row in book.rows("SELECT DISTINCT sha256 FROM entry WHERE student = ?", own)]
    shared = 0
    documents = []
    with book.all_or_nothing():
        book.db.execute("DELETE FROM student WHERE id = ?", (own,))
        gone = []
        for sha256 in hashes:
            if others := len(book.rows("SELECT DISTINCT student FROM entry WHERE sha256 = ?", sha256)):
                shared = max(shared, others)
                continue
            gone.append(sha256)
            documents += [row["document"] for row in book.rows("SELECT document FROM report WHERE sha256 = ?", sha256)]
            book.db.execute("DELETE FROM report WHERE sha256 = ?", (sha256,))
        book.event("a student was deleted")
    for path in [
        *(book.folder / "reports" / f"{alias}{suffix}" for suffix in (".html", ".md")),
        *(book.folder / "results" / name for name in documents),
        *(collect.source_path(book.folder / "submissions", sha256) for sha256 in gone if sha256),
    ]:
        path.unlink(missing_ok=True)
    # Deleted rows would survive in free pages and in the journal.
    book.db.execute("VACUUM")
    book.db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    return shared
