"""Write scores to nbgrader's own gradebook through its API: cell ``check-<criterion>`` gets the criterion's points.

Points above the total, and manual deductions, become the extra credit of one of these cells. Manual marks in nbgrader
are kept.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from autograder.core.errors import BadInput
from autograder.course.gradebook.records import Student
from autograder.course.gradebook.store import Gradebook
from autograder.course.output.export_format import ExportedGrades, ExportRequest

NEEDS_NAMES = True  # this module is also a format of `export`; see export_format.ExportFormat
SECRET = "secret"  # in the course folder; nbgrader releases only source/
NAME = "step-05"  # name of the assignment and its notebook
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


def list_cells(gradebook: Any, assignment: str, notebook: str) -> dict[str, float]:
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
    """Enter a student's points by criterion, without the bonus; the rest of the final ``score`` is extra credit."""
    grades = {
        name: gradebook.find_grade(f"{CELL}{name}", notebook, assignment, student)
        for name in list_cells(gradebook, assignment, notebook)
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


def write(request: ExportRequest) -> ExportedGrades:
    """Enter the scores in nbgrader's gradebook; students without a grade are skipped. Raises BadInput."""
    exported = ExportedGrades()
    cells: dict[str, float] = {}
    for result in request.results:
        own: dict[str, float] = {}
        for verdict in result.verdicts:
            points = 0 if verdict.criterion in result.bonus_criteria else verdict.max_score
            own[verdict.criterion] = own.get(verdict.criterion, 0) + points
        cells |= own
    with open_gradebook(f"sqlite:///{request.target.absolute()}") as gradebook:
        there = list_cells(gradebook, NAME, NAME)
        if there:
            require_same_points(there, cells)
        else:
            gradebook.update_or_create_assignment(NAME)
            gradebook.update_or_create_notebook(NAME, NAME)
            for criterion, points in cells.items():
                gradebook.update_or_create_grade_cell(
                    f"{CELL}{criterion}", NAME, NAME, max_score=points, cell_type="code"
                )
        students, entered = {student.id for student in gradebook.students}, set[str]()
        for result in request.results:
            exported.record(result, result.student.name)
            if result.score is None:
                continue
            login = _find_login(request.book, result.student)
            login = login if login not in entered else result.student.alias  # folders that differ only in case
            entered.add(login)
            if login not in students:
                first, _, last = result.student.name.rpartition(" ")
                gradebook.add_student(login, first_name=first or None, last_name=last)
            gradebook.update_or_create_submission(NAME, login)
            scores = {
                name: sum(v.score for v in result.verdicts if v.criterion == name)
                for name in cells
                if name not in result.bonus_criteria
            }
            enter_scores(gradebook, login, result.score + result.bonus, scores)
    return exported


def _find_login(book: Gradebook, student: Student) -> str:
    """Return the student's id in nbgrader: the folder in submitted/, if there was one."""
    ids = dict(book.list_identifiers(student.id))
    return next((ids[kind] for kind in ("login", "label", "sid", "email") if kind in ids), student.alias)
