"""Compare two runs: changes per student and check, with their causes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from autograder.course.gradebook.overrides import TOTAL
from autograder.course.gradebook.records import Run, Student
from autograder.course.gradebook.results import StudentResult, compute_results
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

    student: Student
    before: float | None
    after: float | None
    changes: tuple[Change, ...]

    @property
    def causes(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(cause for change in self.changes for cause in change.causes))


def compare(book: Gradebook, old: Run, new: Run) -> Iterator[ChangedStudent]:
    """Yield the students who differ between two runs, with overrides as of the later run, or as of now."""
    current = book.find_current_run()
    later = None if current is not None and current.id == new.id else new.finished
    remaining = {one.student.id: one for one in compute_results(book, old, old.finished)}
    for after in compute_results(book, new, later):
        previous = remaining.pop(after.student.id, None)
        changes = tuple(_find_changes(book, previous, after, old, new))
        if changes:
            yield ChangedStudent(after.student, previous.score if previous else None, after.score, changes)
    for gone in remaining.values():
        change = Change("", "submission", "submitted", "removed", ("code",))
        yield ChangedStudent(gone.student, gone.score, None, (change,))


def _find_changes(
    book: Gradebook, previous: StudentResult | None, latest: StudentResult, old: Run, new: Run
) -> Iterator[Change]:
    if previous is None:
        yield Change(
            "", "submission", "absent", "submitted" if latest.entry is not None else "on the roster", ("code",)
        )
        return
    causes = tuple(_find_causes(book, previous, latest, old, new))
    for target in dict.fromkeys([*previous.overrides, *latest.overrides]):
        one, other = previous.overrides.get(target), latest.overrides.get(target)
        if (one and one.points) != (other and other.points) and target not in {v.id for v in latest.verdicts}:
            title = "total, set manually" if target == TOTAL else f"{target}, marked manually"
            reason = other.reason if other else "override removed"
            points = [f"{x.points:g}" if x else "-" for x in (one, other)]
            yield Change(target, title, points[0], points[1], ("override",), reason)
    earlier = {check.id: check for check in previous.verdicts}
    for check in latest.verdicts:
        was = earlier.pop(check.id, None)
        if was is None and previous.verdicts:
            yield Change(check.id, check.title, "not in the rubric", _format_points(check), ("rubric",))
        elif was is None:
            yield Change(
                check.id, check.title, previous.trouble, _format_points(check), causes or ("grader",), check.message
            )
        elif (was.status, was.score, was.max_score) != (check.status, check.score, check.max_score):
            yield _explain_change(was, check, previous, latest, causes)
    for check in earlier.values():
        if latest.verdicts:
            yield Change(check.id, check.title, _format_points(check), "not in the rubric", ("rubric",))
    if previous.verdicts and not latest.verdicts:
        yield Change("", "submission", "graded", latest.trouble, causes or ("grader",))
    elif not previous.verdicts and not latest.verdicts and previous.trouble != latest.trouble:
        yield Change("", "submission", previous.trouble, latest.trouble, causes or ("grader",))


def _explain_change(
    was: Verdict, check: Verdict, previous: StudentResult, latest: StudentResult, causes: tuple[str, ...]
) -> Change:
    message = check.message
    one, other = previous.overrides.get(check.id), latest.overrides.get(check.id)
    if one != other:
        found: tuple[str, ...] = ("override",)
        message = other.reason if other else f"override removed: {check.message}"
    elif was.status == check.status:
        found = ("rubric",)  # same outcome, different points
    else:
        # The outcome of a check does not depend on the rubric.
        found = tuple(cause for cause in causes if cause != "rubric") or ("unknown: run it again",)
        if was.max_score != check.max_score:
            found = (*found, "rubric")
    return Change(check.id, check.title, _format_points(was), _format_points(check), found, message)


def _find_causes(book: Gradebook, previous: StudentResult, latest: StudentResult, old: Run, new: Run) -> Iterator[str]:
    """Yield what differs between the two gradings."""
    if (previous.entry and previous.entry.sha256) != (latest.entry and latest.entry.sha256):
        yield "code"
    if old.key.grader != new.key.grader:
        yield "grader"
    if old.key.seed != new.key.seed:
        yield "seed"
    if old.key.rubric != new.key.rubric:
        yield "rubric"
    reports = [
        book.get_report(one.entry.report) for one in (previous, latest) if one.entry and one.entry.report is not None
    ]
    if len({report.environment for report in reports}) > 1:
        yield "environment"


def _format_points(check: Verdict) -> str:
    return f"{check.status} {check.score:g}/{check.max_score:g}"
