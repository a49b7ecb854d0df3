"""A student's right to be forgotten, as far as this folder goes."""

from __future__ import annotations

import sqlite3

from autograder.course import intake
from autograder.course.gradebook import Gradebook


def forget(book: Gradebook, student: sqlite3.Row) -> int:
    """Delete all that is kept about ``student``; how many others handed in the same sources, which then stay."""
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
        book.event("a student was forgotten")
    for path in [
        *(book.folder / "reports" / f"{alias}{suffix}" for suffix in (".html", ".md")),
        *(book.folder / "results" / name for name in documents),
        *(intake.stored(book.folder / "submissions", sha256) for sha256 in gone if sha256),
    ]:
        path.unlink(missing_ok=True)
    # Nothing of it stays in free pages of the file, nor in its journal.
    book.db.execute("VACUUM")
    book.db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    return shared
