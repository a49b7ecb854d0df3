"""Compute the scores that count: a run's verdicts with overrides applied."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from autograder.course.gradebook.overrides import TOTAL, WRITTEN, apply_override
from autograder.course.gradebook.records import Entry, Override, Run, Student
from autograder.course.gradebook.store import Gradebook
from autograder.grading.report import Verdict, compute_totals


@dataclass(frozen=True, slots=True)
class StudentResult:
    """A student's attempt in a run, with overrides. ``score`` is None if the grade is missing."""

    student: Student
    entry: Entry | None  # None: on the roster, but without a submission
    verdicts: tuple[Verdict, ...] = ()
    overrides: dict[str, Override] = field(default_factory=dict)
    score: float | None = None
    max_score: float = 0
    bonus: float = 0
    bonus_criteria: frozenset[str] = frozenset()

    @property
    def is_latest(self) -> bool:
        """Return whether this is the attempt that counts, or the student has none."""
        return self.entry is None or self.entry.latest

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
        return self.entry.trouble or "not graded yet"

    @property
    def written(self) -> float | None:
        """Return the points for written answers, which are separate from the score, or None."""
        marks = [one.points for target, one in self.overrides.items() if target.startswith(WRITTEN)]
        return sum(marks) if marks else None


def compute_results(
    book: Gradebook, run: Run, at: str | None = None, all_attempts: bool = False
) -> Iterator[StudentResult]:
    """Yield each student's result in ``run`` by name, with the overrides as of the time ``at``, or as of now.

    Students on the roster without a submission come last. Without ``all_attempts``, only the latest attempt of each
    student is included.
    """
    students = {student.id: student for student in book.list_students()}
    seen = set()
    for entry in book.list_entries(run, all_attempts):
        seen.add(entry.student)
        yield _compute_result(book, students[entry.student], entry, run, at)
    for student in sorted(students.values(), key=lambda student: student.name):
        if student.on_roster and student.id not in seen:
            yield _compute_result(book, student, None, run, at)


def _compute_result(book: Gradebook, student: Student, entry: Entry | None, run: Run, at: str | None) -> StudentResult:
    overrides = book.list_overrides(student, at) if entry is None or entry.latest else {}
    stored = book.list_verdicts(entry.report) if entry is not None and entry.report is not None else []
    checks = tuple(apply_override(one.verdict, overrides.get(one.verdict.id)) for one in stored)
    bonus_criteria = frozenset(one.verdict.criterion for one in stored if one.is_bonus)
    score, max_score, bonus = None, 0.0, 0.0
    if stored:
        assert entry is not None
        assert entry.report is not None
        total = int(book.get_report(entry.report).max_score)
        score, max_score, bonus = compute_totals(checks, set(bonus_criteria), total)
        if any(check.status == "error" for check in checks):
            score = None
    if TOTAL in overrides:
        score = overrides[TOTAL].points
        max_score = max_score or book.find_max_score(run)
    return StudentResult(student, entry, checks, overrides, score, max_score, bonus, bonus_criteria)
