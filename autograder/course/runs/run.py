"""Grade many submissions in a run: only missing or changed ones, each result saved at once.

A result is a file, written atomically, and its verdicts are rows of the gradebook. Repeating the command resumes an
interrupted run: finished submissions are not graded again.
"""

from __future__ import annotations

import contextlib
import sqlite3
from collections import Counter
from collections.abc import Callable, Iterable
from concurrent.futures import FIRST_COMPLETED, Future, wait
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from autograder.core.atomic import write_whole
from autograder.core.errors import BadInput
from autograder.core.text import clean
from autograder.course.gradebook.store import Gradebook, now
from autograder.course.intake import collect
from autograder.course.intake.collect import CollectedAttempt
from autograder.course.runs.local_pool import GradeResult, RunConfig
from autograder.grading import secret, suite
from autograder.grading.report import Report

TRIES = 3  # for a submission whose grading kills a process


class Pool(Protocol):
    """A pool that grades submissions."""

    chunk: int
    shared: bool  # losing a process loses all running tasks

    @property
    def ahead(self) -> int:
        """Return how many tasks to keep running."""

    def submit(self, chunk: list[tuple[str, Path]]) -> Future[list[GradeResult]]:
        """Grade these sources."""

    def renew(self) -> None:
        """Start over after a loss."""


@dataclass(frozen=True, slots=True)
class ReportKey:
    """The facts that, with a submission's hash, determine a report."""

    grader: str
    rubric: str
    seed: str

    @classmethod
    def of(cls, conditions: RunConfig) -> ReportKey:
        return cls(
            suite.grader_version(conditions.assignment), conditions.rubric.version, secret.identify(conditions.secret)
        )

    def document(self, sha256: str) -> str:
        """Return the file name of the report on these sources."""
        return f"{sha256}.{self.grader.rpartition('+')[2]}.{self.rubric}.{self.seed}.json"


def plan_run(book: Gradebook, key: ReportKey, items: Iterable[CollectedAttempt], source: str, note: str) -> sqlite3.Row:
    """Return the open run over these ``items``: an interrupted one with the same key, or a new one."""
    wanted = [
        (item.student, item.attempt, item.latest, item.submitted, item.partners, item.sha256, item.trouble)
        for item in items
    ]
    if not wanted:
        raise BadInput(f"{source}: no submission in it; give the folder or archive that contains them")
    left = book.row("SELECT * FROM run WHERE state = 'open' ORDER BY id DESC LIMIT 1")
    if left is not None and (left["grader"], left["rubric"], left["seed"]) == (key.grader, key.rubric, key.seed):
        run = int(left["id"])
        book.db.execute("UPDATE run SET source = ?, note = ? WHERE id = ?", (source, note or left["note"], run))
    else:
        cursor = book.db.execute(
            "INSERT INTO run (kind, state, started, source, note, grader, rubric, seed)"
            " VALUES ('regrade','open',?,?,?,?,?,?)",
            (now(), source, note, key.grader, key.rubric, key.seed),
        )
        assert cursor.lastrowid is not None
        run = cursor.lastrowid
    # An interrupted run under other conditions is not resumed: its reports stay stored, its plan is dropped.
    book.db.execute("DELETE FROM entry WHERE run IN (SELECT id FROM run WHERE state = 'open')")
    book.db.execute("DELETE FROM run WHERE state = 'open' AND id != ?", (run,))
    book.db.executemany(
        "INSERT INTO entry (run, student, attempt, latest, submitted, partners, sha256, trouble)"
        " VALUES (?,?,?,?,?,?,?,?)",
        [(run, *row) for row in wanted],
    )
    found = book.row("SELECT * FROM run WHERE id = ?", run)
    assert found is not None
    return found


def find_missing(book: Gradebook, key: ReportKey, run: sqlite3.Row) -> list[str]:
    """Return the hashes without a report, after entering results that exist only as files."""
    todo = []
    for row in book.rows("SELECT DISTINCT sha256 FROM entry WHERE run = ? AND sha256 != '' ORDER BY sha256", run["id"]):
        sha256 = row["sha256"]
        found = book.stored(sha256, key.grader, key.rubric, key.seed)
        path = book.folder / "results" / key.document(sha256)
        if found is None and path.is_file():
            with contextlib.suppress(ValueError), book.all_or_nothing():  # an invalid report is graded again
                book.keep(Report.model_validate_json(path.read_bytes()), path.name)
            found = book.stored(sha256, key.grader, key.rubric, key.seed)
        if found is not None and found["gradable"] and path.is_file():
            with book.all_or_nothing():
                _enter(book, run, sha256, int(found["id"]), "")
        else:
            todo.append(sha256)
    return todo


def grade_all(
    book: Gradebook, key: ReportKey, run: sqlite3.Row, pool: Pool, todo: list[str], done: Callable[[int], None]
) -> None:
    """Grade ``todo``; call ``done`` with the number of newly finished submissions."""
    store = book.folder / "submissions"
    left = [
        [(sha, collect.source_path(store, sha)) for sha in todo[i : i + pool.chunk]]
        for i in range(0, len(todo), pool.chunk)
    ]
    left.reverse()
    suspects: list[list[tuple[str, Path]]] = []  # running when a process was lost; each is graded again alone
    running: dict[Future[list[GradeResult]], list[tuple[str, Path]]] = {}
    tries: Counter[str] = Counter()
    alone = False
    while left or suspects or running:
        lost: Exception | None = None
        again: list[list[tuple[str, Path]]] = []
        if not running:
            alone = pool.shared and bool(suspects)
        while (queue := suspects or left) and len(running) < (1 if alone else pool.ahead) and lost is None:
            chunk = queue.pop()
            try:
                running[pool.submit(chunk)] = chunk
            except Exception as error:  # a process was lost since the last result
                lost = error
                again.append(chunk)
        ended, _ = wait(running, return_when=FIRST_COMPLETED)
        for future in ended:
            chunk = running.pop(future)
            try:
                answers = future.result()
            except Exception as error:  # always the grader's fault; the others continue
                lost = error
                again.append(chunk)
                continue
            for answer in answers:
                _keep(book, key, run, answer)
            done(len(chunk))
        if lost is None:
            continue
        if pool.shared:
            again = [[one for chunk in (*again, *running.values()) for one in chunk]]
            running.clear()
        pool.renew()
        for chunk in again:
            if len(chunk) == 1:  # in a larger chunk any of them may be at fault
                tries[chunk[0][0]] += 1
            for sha, path in chunk:
                if tries[sha] < TRIES:
                    suspects.append([(sha, path)])
                else:
                    _keep(
                        book,
                        key,
                        run,
                        GradeResult(sha, trouble=f"the grader's processes were lost {TRIES} times: {lost}"),
                    )
                    done(1)


def _keep(book: Gradebook, key: ReportKey, run: sqlite3.Row, answer: GradeResult) -> None:
    """Save one result: first the file, then the rows that refer to it."""
    trouble, name = answer.trouble, key.document(answer.sha256)
    if answer.document:
        try:
            report = Report.model_validate_json(answer.document)
            write_whole(book.folder / "results" / name, answer.document)
            with book.all_or_nothing():
                return _enter(book, run, answer.sha256, book.keep(report, name), "")
        except (ValueError, ArithmeticError) as error:  # one bad report must not stop the others
            trouble = f"not graded: its report could not be saved ({type(error).__name__})"
    with book.all_or_nothing():
        _enter(book, run, answer.sha256, None, clean(trouble))


def _enter(book: Gradebook, run: sqlite3.Row, sha256: str, report: int | None, trouble: str) -> None:
    book.db.execute(
        "UPDATE entry SET report = ?, trouble = ? WHERE run = ? AND sha256 = ?", (report, trouble, run["id"], sha256)
    )


# --- the end of a run -------------------------------------------------------------------------------------------------


def finish_run(book: Gradebook, run: sqlite3.Row, allow_lower: bool) -> list[tuple[str, float, float]]:
    """Make ``run`` the one that counts, or hold it back if exported scores would drop, and return those.

    Each as (alias, exported score, new score).
    """
    from autograder.course.gradebook.results import student_results

    fallen = []
    for standing in student_results(book, run):
        before = book.row(
            "SELECT score FROM exported WHERE student = ? ORDER BY export DESC LIMIT 1", standing.student["id"]
        )
        # A missing grade is never exported, so it cannot lower a score.
        if before is not None and standing.score is not None and standing.score < before["score"]:
            fallen.append((str(standing.student["alias"]), float(before["score"]), standing.score))
    state = "held" if fallen and not allow_lower else "current"
    with book.all_or_nothing():
        book.db.execute("UPDATE run SET state = ?, finished = ? WHERE id = ?", (state, now(), run["id"]))
        if fallen and allow_lower:
            book.event(f"run {run['id']}: {len(fallen)} exported scores dropped, allowed with --allow-lower")
    return fallen if state == "held" else []


def find_unchanged_run(book: Gradebook, run: sqlite3.Row) -> sqlite3.Row | None:
    """Return the last finished run if ``run`` has exactly the same entries, else None."""
    last = book.row("SELECT * FROM run WHERE state != 'open' AND id < ? ORDER BY id DESC LIMIT 1", run["id"])
    if last is None:
        return None
    facts = "SELECT student, attempt, latest, submitted, partners, sha256, trouble, report FROM entry WHERE run = ?"
    same = [tuple(row) for row in book.rows(f"{facts} ORDER BY student, attempt", last["id"])] == [
        tuple(row) for row in book.rows(f"{facts} ORDER BY student, attempt", run["id"])
    ]
    return last if same else None


def delete_run(book: Gradebook, run: sqlite3.Row) -> None:
    """Delete a run that adds nothing new."""
    with book.all_or_nothing():
        book.db.execute("DELETE FROM entry WHERE run = ?", (run["id"],))
        book.db.execute("DELETE FROM run WHERE id = ?", (run["id"],))
