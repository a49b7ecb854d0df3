"""What counts: the verdicts of a run with what was set by hand laid over them."""

from __future__ import annotations

import getpass
import json
import sqlite3
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from autograder.course.gradebook import Gradebook, now
from autograder.files import BadInput
from autograder.report import Diagnosis, Report, Verdict, totals

TOTAL, WRITTEN = "total", "written."


@dataclass(frozen=True, slots=True)
class ByHand:
    """Points that someone set, and why."""

    points: float
    reason: str
    who: str
    at: str


@dataclass(frozen=True, slots=True)
class Standing:
    """A student's attempt in a run, with what was set by hand. ``score`` is None where there is no grade."""

    student: sqlite3.Row
    entry: sqlite3.Row | None  # None: on the roster, but nothing was handed in
    verdicts: tuple[Verdict, ...] = ()
    by_hand: dict[str, ByHand] = field(default_factory=dict)
    score: float | None = None
    max_score: float = 0
    bonus: float = 0
    extra: frozenset[str] = frozenset()  # the criteria whose points come on top

    @property
    def counts(self) -> bool:
        """Whether this is the attempt that counts, or what stands for none."""
        return self.entry is None or bool(self.entry["latest"])

    @property
    def lost(self) -> list[Verdict]:
        """The checks that did not pass, those on top aside."""
        return [v for v in self.verdicts if v.status != "passed" and v.criterion not in self.extra]

    @property
    def trouble(self) -> str:
        """Why there is no grade, or nothing."""
        if self.entry is None:
            return "nothing was handed in" if self.score is None else ""
        failed = [v.id for v in self.verdicts if v.status == "error" and v.id not in self.by_hand]
        if self.score is not None:
            return ""
        if failed:
            return f"the grader failed at {', '.join(failed[:3])}{' and others' if len(failed) > 3 else ''}"
        return str(self.entry["trouble"] or "not graded yet")

    @property
    def written(self) -> float | None:
        """Points of the written answers, which stand beside the score."""
        marks = [one.points for what, one in self.by_hand.items() if what.startswith(WRITTEN)]
        return sum(marks) if marks else None

    def shown(self, anonymous: bool) -> str:
        """What stands for the student in what people read."""
        return str(self.student["alias"] if anonymous else self.student["name"])


def standings(book: Gradebook, run: sqlite3.Row, at: str | None = None, every: bool = False) -> Iterator[Standing]:
    """Each student of ``run``, by name, with the overrides as they were ``at`` that time, or now.

    Students on the roster who handed in nothing follow. Only the latest attempts unless ``every``.
    """
    people = {row["id"]: row for row in book.rows("SELECT * FROM student")}
    seen = set()
    for entry in book.rows(
        "SELECT entry.* FROM entry JOIN student ON student.id = student WHERE run = ? AND (latest OR ?)"
        " ORDER BY student.name, student.id, attempt",
        *(run["id"], every),
    ):
        seen.add(entry["student"])
        yield _standing(book, people[entry["student"]], entry, run, at)
    for student in sorted(people.values(), key=lambda row: str(row["name"])):
        if student["on_roster"] and student["id"] not in seen:
            yield _standing(book, student, None, run, at)


def _standing(
    book: Gradebook, student: sqlite3.Row, entry: sqlite3.Row | None, run: sqlite3.Row, at: str | None
) -> Standing:
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
        max_score = max_score or most(book, run)
    return Standing(student, entry, checks, by_hand, score, max_score, bonus, extra)


def verdict(row: sqlite3.Row, by_hand: ByHand | None = None) -> Verdict:
    """A stored verdict, with what was set by hand in its place."""
    score, status = float(row["score"]), row["status"]
    if by_hand is not None:
        score = min(by_hand.points, row["max_score"])  # which a changed rubric may have lowered
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


def most(book: Gradebook, run: sqlite3.Row) -> float:
    """The most that can be had in ``run``."""
    found = book.row(
        "SELECT max(max_score) AS most FROM report JOIN entry ON report.id = report WHERE run = ?", run["id"]
    )
    return float(found["most"] or 0) if found else 0.0


def laid_over(report: Report, standing: Standing) -> Report:
    """``report`` as the student reads it: their name, and what was set by hand."""
    changed = {check.id: check for check in standing.verdicts}
    checks = tuple(
        check.model_copy(update={"score": changed[check.id].score, "status": changed[check.id].status})
        if check.id in standing.by_hand and check.id in changed
        else check
        for check in report.checks
    )
    facts: dict[str, Any] = {"checks": checks, "gradable": standing.score is not None}
    return report.model_copy(update=facts | {"score": standing.score or 0, "bonus": standing.bonus})


# --- overrides --------------------------------------------------------------------------------------------------------


def overrides(book: Gradebook, student: int, at: str | None = None) -> dict[str, ByHand]:
    """What holds for a student, by what it is about; the last one said holds."""
    rows = book.rows(
        "SELECT * FROM override WHERE student = ? AND (? IS NULL OR at <= ?) ORDER BY id", *(student, at, at)
    )
    last = {row["what"]: row for row in rows}
    return {
        what: ByHand(row["points"], row["reason"], row["who"], row["at"])
        for what, row in last.items()
        if row["points"] is not None
    }


def override(book: Gradebook, student: int, what: str, points: float | None, reason: str) -> None:
    """Set ``points`` for a check, ``written.N`` or ``total``; None takes an override back. Raises BadInput."""
    if not reason.strip():
        raise BadInput("--reason: empty; say why, so that whoever asks later can be told")
    run = book.current()
    if run is None:
        raise BadInput(f"{book.folder}: no finished run yet; `regrade` first")
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
        limit = most(book, run)
    elif what.startswith(WRITTEN) and what.removeprefix(WRITTEN).isalnum():
        limit = 100.0
    if limit is None:
        alike = [name for name in checks if name.split(".")[0] == what.split(".")[0]]
        there = alike or dict.fromkeys(f"{name.split('.')[0]}.*" for name in checks)
        raise BadInput(f"{what}: neither a check nor written.N nor total; there are {', '.join(there)}")
    if points is None and what not in overrides(book, student):
        raise BadInput(f"{what}: nothing was set by hand there, so there is nothing to take back")
    if points is not None and not 0 <= points <= limit:
        raise BadInput(f"{points:g} points: {what} has from 0 to {limit:g}; give a number in between")
    try:
        who = getpass.getuser()
    except (OSError, KeyError):
        who = "unknown"
    with book.all_or_nothing():
        book.db.execute(
            "INSERT INTO override (student, what, points, reason, who, at) VALUES (?,?,?,?,?,?)",
            (student, what, points, " ".join(reason.split()), who, now()),
        )
