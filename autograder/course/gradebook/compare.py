"""Compare two runs: changes per student and check, with their causes."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from dataclasses import dataclass

from autograder.course.gradebook.results import TOTAL, StudentResult, student_results
from autograder.course.gradebook.store import Gradebook
from autograder.grading.report import Verdict


@dataclass(frozen=True, slots=True)
class Change:
    """One check with a different outcome. ``causes`` are the possible causes, more than one if it is unclear."""

    check: str
    title: str
    before: str
    after: str
    causes: tuple[str, ...]
    message: str = ""


@dataclass(frozen=True, slots=True)
class ChangedStudent:
    """A student whose score or checks changed."""

    student: sqlite3.Row
    before: float | None
    after: float | None
    changes: tuple[Change, ...]

    @property
    def causes(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(cause for change in self.changes for cause in change.causes))


def compare(book: Gradebook, old: sqlite3.Row, new: sqlite3.Row) -> Iterator[ChangedStudent]:
    """Yield the students who differ between two runs, with overrides as of the later run, or as of now."""
    current = book.current()
    later = None if current is not None and current["id"] == new["id"] else new["finished"]
    before = {one.student["id"]: one for one in student_results(book, old, old["finished"])}
    for after in student_results(book, new, later):
        was = before.pop(after.student["id"], None)
        changes = tuple(_changes(book, was, after, old, new))
        if changes:
            yield ChangedStudent(after.student, was.score if was else None, after.score, changes)
    for gone in before.values():
        change = Change("", "submission", "submitted", "removed", ("code",))
        yield ChangedStudent(gone.student, gone.score, None, (change,))


def _changes(
    book: Gradebook, was: StudentResult | None, now: StudentResult, old: sqlite3.Row, new: sqlite3.Row
) -> Iterator[Change]:
    if was is None:
        yield Change("", "submission", "absent", "submitted" if now.entry is not None else "on the roster", ("code",))
        return
    causes = tuple(_conditions(book, was, now, old, new))
    for what in dict.fromkeys([*was.overrides, *now.overrides]):
        one, other = was.overrides.get(what), now.overrides.get(what)
        if (one and one.points) != (other and other.points) and what not in {v.id for v in now.verdicts}:
            title = "total, set manually" if what == TOTAL else f"{what}, marked manually"
            reason = other.reason if other else "override removed"
            points = [f"{x.points:g}" if x else "-" for x in (one, other)]
            yield Change(what, title, points[0], points[1], ("override",), reason)
    earlier = {check.id: check for check in was.verdicts}
    for check in now.verdicts:
        before = earlier.pop(check.id, None)
        if before is None and was.verdicts:
            yield Change(check.id, check.title, "not in the rubric", _points(check), ("rubric",))
        elif before is None:
            yield Change(check.id, check.title, was.trouble, _points(check), causes or ("grader",), check.message)
        elif (before.status, before.score, before.max_score) != (check.status, check.score, check.max_score):
            yield _change(before, check, was, now, causes)
    for check in earlier.values():
        if now.verdicts:
            yield Change(check.id, check.title, _points(check), "not in the rubric", ("rubric",))
    if was.verdicts and not now.verdicts:
        yield Change("", "submission", "graded", now.trouble, causes or ("grader",))
    elif not was.verdicts and not now.verdicts and was.trouble != now.trouble:
        yield Change("", "submission", was.trouble, now.trouble, causes or ("grader",))


def _change(before: Verdict, check: Verdict, was: StudentResult, now: StudentResult, causes: tuple[str, ...]) -> Change:
    message = check.message
    one, other = was.overrides.get(check.id), now.overrides.get(check.id)
    if one != other:
        found: tuple[str, ...] = ("override",)
        message = other.reason if other else f"override removed: {check.message}"
    elif before.status == check.status:
        found = ("rubric",)  # same outcome, different points
    else:
        # The outcome of a check does not depend on the rubric.
        found = tuple(cause for cause in causes if cause != "rubric") or ("unknown: run it again",)
        if before.max_score != check.max_score:
            found = (*found, "rubric")
    return Change(check.id, check.title, _points(before), _points(check), found, message)


def _conditions(
    book: Gradebook, was: StudentResult, now: StudentResult, old: sqlite3.Row, new: sqlite3.Row
) -> Iterator[str]:
    """Yield the conditions that differ between the two gradings."""
    if (was.entry and was.entry["sha256"]) != (now.entry and now.entry["sha256"]):
        yield "code"
    if old["grader"] != new["grader"]:
        yield "grader"
    if old["seed"] != new["seed"]:
        yield "seed"
    if old["rubric"] != new["rubric"]:
        yield "rubric"
    environments = [
        book.row("SELECT environment FROM report WHERE id = ?", one.entry["report"] if one.entry else None)
        for one in (was, now)
    ]
    if all(environments) and environments[0]["environment"] != environments[1]["environment"]:  # type: ignore[index]
        yield "environment"


def _points(check: Verdict) -> str:
    return f"{check.status} {check.score:g}/{check.max_score:g}"
