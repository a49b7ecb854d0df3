"""Compute the scores that count: a run's verdicts with overrides applied."""

from __future__ import annotations

import getpass
import json
import sqlite3
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from autograder.core.errors import BadInput
from autograder.course.gradebook.store import Gradebook, now
from autograder.grading.report import Diagnosis, Report, Verdict, totals

TOTAL, WRITTEN = "total", "written."


@dataclass(frozen=True, slots=True)
class Override:
    """Points set manually, with the reason."""

    points: float
    reason: str
    who: str
    at: str


@dataclass(frozen=True, slots=True)
class StudentResult:
    """A student's attempt in a run, with overrides. ``score`` is None if there is no grade."""

    student: sqlite3.Row
    entry: sqlite3.Row | None  # None: on the roster, but without a submission
    verdicts: tuple[Verdict, ...] = ()
    overrides: dict[str, Override] = field(default_factory=dict)
    score: float | None = None
    max_score: float = 0
    bonus: float = 0
    bonus_criteria: frozenset[str] = frozenset()  # the bonus criteria

    @property
    def counts(self) -> bool:
        """Return whether this is the attempt that counts, or there is none."""
        return self.entry is None or bool(self.entry["latest"])

    @property
    def lost_points(self) -> list[Verdict]:
        """Return the checks that did not pass, without the bonus."""
        return [v for v in self.verdicts if v.status != "passed" and v.criterion not in self.bonus_criteria]

    @property
    def trouble(self) -> str:
        """Return the reason for a missing grade, or ""."""
        if self.entry is None:
            return "no submission" if self.score is None else ""
        failed = [v.id for v in self.verdicts if v.status == "error" and v.id not in self.overrides]
        if self.score is not None:
            return ""
        if failed:
            return f"the grader failed at {', '.join(failed[:3])}{' and others' if len(failed) > 3 else ''}"
        return str(self.entry["trouble"] or "not graded yet")

    @property
    def written(self) -> float | None:
        """Return the points for written answers, which are separate from the score, or None."""
        marks = [one.points for what, one in self.overrides.items() if what.startswith(WRITTEN)]
        return sum(marks) if marks else None

    def shown(self, anonymous: bool) -> str:
        """Return the student's name or alias, as shown to people."""
        return str(self.student["alias"] if anonymous else self.student["name"])


def student_results(
    book: Gradebook, run: sqlite3.Row, at: str | None = None, every: bool = False
) -> Iterator[StudentResult]:
    """Yield each student of ``run`` by name, with the overrides as of the time ``at``, or as of now.

    Students on the roster without a submission come last. Only the latest attempts unless ``every``.
    """
    people = {row["id"]: row for row in book.rows("SELECT * FROM student")}
    seen = set()
    for entry in book.rows(
        "SELECT entry.* FROM entry JOIN student ON student.id = student WHERE run = ? AND (latest OR ?)"
        " ORDER BY student.name, student.id, attempt",
        *(run["id"], every),
    ):
        seen.add(entry["student"])
        yield _student_result(book, people[entry["student"]], entry, run, at)
    for student in sorted(people.values(), key=lambda row: str(row["name"])):
        if student["on_roster"] and student["id"] not in seen:
            yield _student_result(book, student, None, run, at)


def _student_result(
    book: Gradebook, student: sqlite3.Row, entry: sqlite3.Row | None, run: sqlite3.Row, at: str | None
) -> StudentResult:
    by_hand = overrides(book, student["id"], at) if entry is None or entry["latest"] else {}
    report = entry["report"] if entry is not None else None
    rows = book.rows("SELECT * FROM verdict WHERE report = ? ORDER BY position", report) if report else []
    checks = tuple(verdict(row, by_hand.get(row["id"])) for row in rows)
    score, max_score, bonus = None, 0.0, 0.0
    extra = frozenset(str(row["criterion"]) for row in rows if row["bonus"])
    if rows:
        found = book.row("SELECT max_score FROM report WHERE id = ?", report)
        total = int(found["max_score"]) if found else 0
        score, max_score, bonus = totals(checks, set(extra), total)
        if any(check.status == "error" for check in checks):
            score = None
    if TOTAL in by_hand:
        score = by_hand[TOTAL].points
        max_score = max_score or max_points(book, run)
    return StudentResult(student, entry, checks, by_hand, score, max_score, bonus, extra)


def verdict(row: sqlite3.Row, by_hand: Override | None = None) -> Verdict:
    """Return a stored verdict with its override applied."""
    score, status = float(row["score"]), row["status"]
    if by_hand is not None:
        score = min(by_hand.points, row["max_score"])  # a changed rubric may have lowered the maximum
        status = "passed" if score >= row["max_score"] else "partial" if score > 0 else "failed"
    return Verdict(
        id=row["id"],
        criterion=row["criterion"],
        title=row["title"],
        status=status,
        score=score,
        max_score=row["max_score"],
        message=row["message"],
        diagnosis=tuple(Diagnosis(**one) for one in json.loads(row["diagnosis"])),
    )


def max_points(book: Gradebook, run: sqlite3.Row) -> float:
    """Return the maximum score in ``run``."""
    found = book.row(
        "SELECT max(max_score) AS most FROM report JOIN entry ON report.id = report WHERE run = ?", run["id"]
    )
    return float(found["most"] or 0) if found else 0.0


def apply_overrides(report: Report, standing: StudentResult) -> Report:
    """Return ``report`` with the student's overrides applied."""
    changed = {check.id: check for check in standing.verdicts}
    checks = tuple(
        check.model_copy(update={"score": changed[check.id].score, "status": changed[check.id].status})
        if check.id in standing.overrides and check.id in changed
        else check
        for check in report.checks
    )
    facts: dict[str, Any] = {"checks": checks, "gradable": standing.score is not None}
    return report.model_copy(update=facts | {"score": standing.score or 0, "bonus": standing.bonus})


# --- overrides --------------------------------------------------------------------------------------------------------


def overrides(book: Gradebook, student: int, at: str | None = None) -> dict[str, Override]:
    """Return a student's overrides by target; the last one for each target applies."""
    rows = book.rows(
        "SELECT * FROM override WHERE student = ? AND (? IS NULL OR at <= ?) ORDER BY id", *(student, at, at)
    )
    last = {row["what"]: row for row in rows}
    return {
        what: Override(row["points"], row["reason"], row["who"], row["at"])
        for what, row in last.items()
        if row["points"] is not None
    }


def override(book: Gradebook, student: int, what: str, points: float | None, reason: str) -> None:
    """Set ``points`` for a check, ``written.N`` or ``total``; None removes an override. Raises BadInput."""
    if not reason.strip():
        raise BadInput("--reason: empty; give a reason that you can tell the student later")
    run = book.current()
    if run is None:
        raise BadInput(f"{book.folder}: no finished run yet; run `regrade` first")
    checks = {
        row["id"]: row["most"]
        for row in book.rows(
            "SELECT verdict.id, max(verdict.max_score) AS most FROM verdict JOIN entry ON entry.report = verdict.report"
            " WHERE run = ? GROUP BY verdict.id ORDER BY position",
            run["id"],
        )
    }
    limit = checks.get(what)
    if what == TOTAL:
        limit = max_points(book, run)
    elif what.startswith(WRITTEN) and what.removeprefix(WRITTEN).isalnum():
        limit = 100.0
    if limit is None:
        alike = [name for name in checks if name.split(".")[0] == what.split(".")[0]]
        there = alike or dict.fromkeys(f"{name.split('.')[0]}.*" for name in checks)
        raise BadInput(f"{what}: not a check, written.N or total; choose from {', '.join(there)}")
    if points is None and what not in overrides(book, student):
        raise BadInput(f"{what}: no override is set there, so there is nothing to remove")
    if points is not None and not 0 <= points <= limit:
        raise BadInput(f"{points:g} points: {what} takes from 0 to {limit:g}; give a number in that range")
    try:
        who = getpass.getuser()
    except (OSError, KeyError):
        who = "unknown"
    with book.all_or_nothing():
        book.db.execute(
            "INSERT INTO override (student, what, points, reason, who, at) VALUES (?,?,?,?,?,?)",
            (student, what, points, " ".join(reason.split()), who, now()),
        )
