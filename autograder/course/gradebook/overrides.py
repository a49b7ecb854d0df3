"""Apply scores set by hand, and set them."""

from __future__ import annotations

import getpass
from typing import TYPE_CHECKING, Any

from autograder.core.errors import BadInput
from autograder.course.gradebook.records import Override, Student
from autograder.course.gradebook.store import Gradebook
from autograder.grading.report import Report, Verdict

if TYPE_CHECKING:
    from autograder.course.gradebook.results import StudentResult

TOTAL, WRITTEN = (
    "total",
    "written.",
)  # targets of an override besides checks: the whole score, and the prefix of a written answer's target


def apply_override(verdict: Verdict, override: Override | None) -> Verdict:
    """Return ``verdict`` with the points of ``override``, if there is one."""
    if override is None:
        return verdict
    score = min(override.points, verdict.max_score)  # a changed rubric may have lowered the maximum
    status = "passed" if score >= verdict.max_score else "partial" if score > 0 else "failed"
    return verdict.model_copy(update={"score": score, "status": status})


def apply_overrides(report: Report, result: StudentResult) -> Report:
    """Return ``report`` with the student's overrides applied."""
    changed = {check.id: check for check in result.verdicts}
    checks = tuple(
        check.model_copy(update={"score": changed[check.id].score, "status": changed[check.id].status})
        if check.id in result.overrides and check.id in changed
        else check
        for check in report.checks
    )
    facts: dict[str, Any] = {"checks": checks, "gradable": result.score is not None}
    return report.model_copy(update=facts | {"score": result.score or 0, "bonus": result.bonus})


def set_override(book: Gradebook, student: Student, target: str, points: float | None, reason: str) -> None:
    """Set ``points`` for a check, ``written.N`` or ``total``; None removes an override. Raises BadInput."""
    if not reason.strip():
        raise BadInput("--reason: empty; give a reason that you can tell the student later")
    run = book.require_current_run()
    checks = book.list_check_points(run)
    limit = checks.get(target)
    if target == TOTAL:
        limit = book.find_max_score(run)
    elif target.startswith(WRITTEN) and target.removeprefix(WRITTEN).isalnum():
        limit = 100.0
    if limit is None:
        alike = [name for name in checks if name.split(".")[0] == target.split(".")[0]]
        choices = alike or dict.fromkeys(f"{name.split('.')[0]}.*" for name in checks)
        raise BadInput(f"{target}: not a check, written.N or total; choose from {', '.join(choices)}")
    if points is None and target not in book.list_overrides(student):
        raise BadInput(f"{target}: no override is set there, so there is nothing to remove")
    if points is not None and not 0 <= points <= limit:
        raise BadInput(f"{points:g} points: {target} takes from 0 to {limit:g}; give a number in that range")
    try:
        who = getpass.getuser()
    except (OSError, KeyError):
        who = "unknown"
    book.add_override(student, target, points, " ".join(reason.split()), who)
