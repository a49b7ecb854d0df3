"""Replace the table of ``nbgrader export``: ungraded students have no score instead of a zero."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from nbgrader.api import MissingEntry
from nbgrader.plugins import ExportPlugin

from autograder.core.atomic import write_whole
from autograder.core.csv_sheet import Sheet
from autograder.nbgrader.gradebook import CELL

PERSON = ("last_name", "first_name", "email")
COLUMNS = (
    *("assignment", "duedate", "timestamp", "student_id", *PERSON),
    *("raw_score", "late_submission_penalty", "score", "max_score"),
)


class Table(ExportPlugin):  # type: ignore[misc]
    """Export the columns of nbgrader's CSV, with names quoted. Students without a submission get 0, as in nbgrader."""

    def export(self, gradebook: Any) -> None:
        """Write the table to ``--to``, or to grades.csv."""
        target = self.to or "grades.csv"
        rows = [
            ["" if row.get(name) is None else str(row[name]) for name in COLUMNS] for row in self._make_rows(gradebook)
        ]
        write_whole(Path(target), Sheet(list(COLUMNS), rows).text())
        self.log.info("Exported grades to %s", target)

    def _make_rows(self, gradebook: Any) -> Iterator[dict[str, Any]]:
        for assignment in gradebook.assignments:
            for student in gradebook.students:
                if (self.assignment and assignment.name not in map(str, self.assignment)) or (
                    self.student and student.id not in map(str, self.student)
                ):
                    continue
                row = {"assignment": assignment.name, "duedate": assignment.duedate, "student_id": student.id}
                row |= {name: getattr(student, name) for name in PERSON} | {"max_score": assignment.max_score}
                try:
                    submission = gradebook.find_submission(assignment.name, student.id)
                except MissingEntry:
                    yield row | {"raw_score": 0.0, "late_submission_penalty": 0.0, "score": 0.0}
                    continue
                row["timestamp"] = submission.timestamp
                if not _is_ungraded(submission):
                    late = submission.late_submission_penalty
                    row |= {"raw_score": submission.score, "late_submission_penalty": late}
                    row["score"] = max(0.0, submission.score - late)
                yield row


def _is_ungraded(submission: Any) -> bool:
    """Return whether a cell of the grader has neither automatic nor manual points."""
    return any(
        grade.name.startswith(CELL) and grade.auto_score is None and grade.manual_score is None
        for notebook in submission.notebooks
        for grade in notebook.grades
    )
