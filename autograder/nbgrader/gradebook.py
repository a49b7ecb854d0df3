"""Write scores to nbgrader's own gradebook through its API: cell ``check-<criterion>`` gets the criterion's points.

Points above the total, and manual deductions, become the extra credit of one of these cells. Manual marks in nbgrader
are kept.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from autograder.core.errors import BadInput

if TYPE_CHECKING:
    from autograder.course.gradebook.results import StudentResult
    from autograder.course.gradebook.store import Gradebook
    from autograder.course.output.grade_export import FilledSheet

SECRET = "secret"  # in the course folder; nbgrader releases only source/
NAME = "step-05"  # of the assignment and its notebook
CELL = "check-"  # prefix of a criterion's cell
BEYOND = f"{CELL}bonus"  # a cell worth 0 points whose extra credit is the bonus


@contextmanager
def open_gradebook(url: str) -> Iterator[Any]:
    """Open nbgrader's gradebook in one transaction. Raises BadInput."""
    try:
        from nbgrader.api import Gradebook as Theirs
    except ImportError:
        raise BadInput("nbgrader is not installed here: pip install -r requirements/course.txt") from None
    # nbgrader creates a new file with a program installed beside this Python.
    os.environ["PATH"] = os.pathsep.join((os.path.dirname(sys.executable), os.environ.get("PATH", os.defpath)))
    with Theirs(url) as gradebook:
        try:
            yield gradebook
            gradebook.db.commit()
        except BaseException:
            gradebook.db.rollback()
            raise


def graded_cells(gradebook: Any, assignment: str, notebook: str) -> dict[str, float]:
    """Return the criteria that have a cell in a notebook, with each cell's points."""
    from nbgrader.api import MissingEntry

    try:
        found = gradebook.find_notebook(notebook, assignment).grade_cells
    except MissingEntry:
        return {}
    return {cell.name.removeprefix(CELL): float(cell.max_score) for cell in found if cell.name.startswith(CELL)}


def enter_scores(
    gradebook: Any,
    student: str,
    score: float,
    points: Mapping[str, float],
    assignment: str = NAME,
    notebook: str = NAME,
) -> None:
    """Enter a student's points by criterion, without the bonus, and the final ``score``."""
    grades = {
        name: gradebook.find_grade(f"{CELL}{name}", notebook, assignment, student)
        for name in graded_cells(gradebook, assignment, notebook)
    }
    for name, grade in grades.items():
        grade.auto_score = points.get(name, 0.0)
        grade.needs_manual_grade = grade.manual_score is not None  # as nbgrader does, so that someone checks it again
    beyond = grades.get(BEYOND.removeprefix(CELL)) or next(iter(grades.values()))
    beyond.extra_credit = score - sum(points.values())


def require_same_points(there: Mapping[str, float], points: Mapping[str, float]) -> None:
    """Raise BadInput unless nbgrader's cells have the points of the rubric."""
    for name in {**there, **points}:
        if there.get(name, 0.0) != points.get(name, 0.0):
            raise BadInput(
                f"{CELL}{name}: {there.get(name, 0):g} points in nbgrader, {points.get(name, 0):g} in the rubric; run"
                " `make nbgrader-course` again, then `nbgrader generate_assignment --force`"
            )


def fill(book: Gradebook, found: list[StudentResult], target: Path) -> FilledSheet:
    """Enter the scores of ``found``; students without a grade are skipped. Raises BadInput."""
    from autograder.core.csv_sheet import Sheet
    from autograder.course.output.grade_export import FilledSheet, count

    filled = FilledSheet(Sheet([], []))
    most: dict[str, float] = {}
    for one in found:
        own: dict[str, float] = {}
        for verdict in one.verdicts:
            own[verdict.criterion] = own.get(verdict.criterion, 0) + (
                0 if verdict.criterion in one.bonus_criteria else verdict.max_score
            )
        most |= own
    with open_gradebook(f"sqlite:///{target.absolute()}") as gradebook:
        there = graded_cells(gradebook, NAME, NAME)
        if there:
            require_same_points(there, most)
        else:
            gradebook.update_or_create_assignment(NAME)
            gradebook.update_or_create_notebook(NAME, NAME)
            for criterion, points in most.items():
                gradebook.update_or_create_grade_cell(
                    f"{CELL}{criterion}", NAME, NAME, max_score=points, cell_type="code"
                )
        students, filled_in = {student.id for student in gradebook.students}, set[str]()
        for one in found:
            count(filled, one, str(one.student["name"]))
            if one.score is None:
                continue
            key = _login(book, one)
            key = key if key not in filled_in else str(one.student["alias"])  # folders that differ only in case
            filled_in.add(key)
            if key not in students:
                first, _, last = str(one.student["name"]).rpartition(" ")
                gradebook.add_student(key, first_name=first or None, last_name=last)
            gradebook.update_or_create_submission(NAME, key)
            given = {
                name: sum(v.score for v in one.verdicts if v.criterion == name)
                for name in most
                if name not in one.bonus_criteria
            }
            enter_scores(gradebook, key, one.score, given)
    return filled


def _login(book: Gradebook, one: StudentResult) -> str:
    """Return the student's id in nbgrader: the folder in submitted/, if there was one."""
    ids = {
        row["kind"]: row["value"] for row in book.rows("SELECT * FROM identifier WHERE student = ?", one.student["id"])
    }
    return next((str(ids[kind]) for kind in ("login", "label", "sid", "email") if kind in ids), one.student["alias"])
