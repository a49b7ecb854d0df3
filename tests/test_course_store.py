"""Test that only the store accesses the gradebook, older gradebooks open, and overrides survive a check's new name."""

from __future__ import annotations

import re
import sqlite3
from contextlib import closing

import pytest

from autograder.core.errors import BadInput
from autograder.course.gradebook.overrides import set_override
from autograder.course.gradebook.results import compute_results
from autograder.course.gradebook.schema import VERSION
from tests.conftest import ROOT
from tests.course_kit import ROWS, Course, query

PACKAGE = ROOT / "autograder"
STORE = {"course/gradebook/store.py", "course/gradebook/schema.py"}
SQL = re.compile(r"\b(SELECT|INSERT|UPDATE|DELETE FROM|CREATE TABLE|PRAGMA|VACUUM|BEGIN IMMEDIATE)\b|\bsqlite3\b")
DIAGNOSIS = r'[{"mistake": "m", "sentence": "say \"sentence\": x"}]'
# A gradebook written by the first release.
VERSION_1 = (
    "CREATE TABLE event (at TEXT NOT NULL, what TEXT NOT NULL)",
    "INSERT INTO event VALUES ('2026-01-01', 'a student was deleted')",
    "UPDATE verdict SET status = 'missing' WHERE id = 'model.loss'",
    f"UPDATE verdict SET diagnosis = '{DIAGNOSIS}' WHERE id = 'mlp.width'",
    "UPDATE verdict SET id = 'attention.simplex' WHERE id = 'attention.rows_sum_to_one'",
    "UPDATE override SET what = 'attention.simplex' WHERE what = 'attention.rows_sum_to_one'",
    "PRAGMA user_version=1",
)


def test_only_the_store_knows_sql() -> None:
    files = {path.relative_to(PACKAGE).as_posix(): path for path in PACKAGE.rglob("*.py")}
    assert set(files) >= STORE
    found = {name for name, path in files.items() if SQL.search(path.read_text("utf-8"))}
    assert found == STORE


def test_a_gradebook_of_the_first_release_opens_and_keeps_its_overrides(course: Course) -> None:
    course.hand_in(ada="# lose attention.rows_sum_to_one lose model.loss")
    course.regrade()
    with course.book() as book:
        set_override(book, book.find_student("ada"), "attention.rows_sum_to_one", 1.5, "half right")
        for statement in VERSION_1:
            query(book, statement)
    with course.book() as book:
        assert query(book, "PRAGMA user_version") == [(VERSION,)]
        assert query(book, "SELECT name FROM sqlite_master WHERE name = 'event'") == []
        run = book.find_current_run()
        assert run is not None
        (result,) = compute_results(book, run)
        checks = {check.id: check for check in result.verdicts}
        assert checks["model.loss"].status == "not_implemented"
        assert checks["mlp.width"].diagnosis[0].message == 'say "sentence": x'
        assert checks["attention.simplex"].score == 1.5
    course.hand_in(ada="# lose attention.rows_sum_to_one")
    course.regrade()
    with course.book() as book:
        run = book.find_current_run()
        assert run is not None
        (result,) = compute_results(book, run)
        assert {check.id: check.score for check in result.verdicts}["attention.rows_sum_to_one"] == 1.5
        assert list(result.overrides) == ["attention.rows_sum_to_one"]
    assert ROWS.renamed["attention.simplex"] == "attention.rows_sum_to_one"


def test_a_gradebook_of_a_later_release_is_refused(course: Course) -> None:
    with course.book() as book:
        query(book, f"PRAGMA user_version={VERSION + 1}")
    with pytest.raises(BadInput, match=f"layout {VERSION + 1}, here {VERSION}"), course.book():
        pass


def test_an_error_of_sqlite_is_one_line(course: Course) -> None:
    with (
        course.book() as book,
        closing(sqlite3.connect(course.out / "gradebook.sqlite", isolation_level=None)) as other,
    ):
        book._db.execute("PRAGMA busy_timeout=0")
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(BadInput, match=r"gradebook\.sqlite: database is locked; .*repeat the command"):
            book.set_anonymous(True)
        other.execute("ROLLBACK")
        assert not book.is_anonymous


@pytest.mark.parametrize(("folder", "above"), [("intake", "gradebook|runs|output"), ("gradebook", "runs|output")])
def test_folders_of_the_course_import_downwards(folder: str, above: str) -> None:
    upward = re.compile(rf"autograder\.course\.({above})\b|autograder\.course import .*\b({above})\b")
    assert not [path for path in (PACKAGE / "course" / folder).glob("*.py") if upward.search(path.read_text("utf-8"))]
