"""Scores into nbgrader's own gradebook, through its interface: a cell for each criterion, one for what is on top."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from autograder.assignment import ASSIGNMENT
from autograder.files import BadInput

if TYPE_CHECKING:
    from autograder.course.export import Filled
    from autograder.course.gradebook import Gradebook
    from autograder.course.scores import Standing

NOTEBOOK = "gpt"
BEYOND = "bonus-and-corrections"  # bonus, the cap on it, and totals set by hand


def fill(book: Gradebook, found: list[Standing], target: Path) -> Filled:
    """Enter the scores of ``found``; students without a grade are left alone. Raises BadInput."""
    try:
        from nbgrader.api import Gradebook as Theirs
    except ImportError:
        raise BadInput("nbgrader is not installed here: pip install -r requirements/course.txt") from None
    from autograder.course.export import Filled, count
    from autograder.course.sheets import Sheet

    filled = Filled(Sheet([], []))
    most: dict[str, float] = {}
    for one in found:
        own: dict[str, float] = {}
        for verdict in one.verdicts:
            if verdict.criterion not in one.extra:
                own[verdict.criterion] = own.get(verdict.criterion, 0) + verdict.max_score
        most |= own
    name = ASSIGNMENT.name
    # nbgrader sets up a new file with a program that is installed beside this Python.
    os.environ["PATH"] = os.pathsep.join((os.path.dirname(sys.executable), os.environ.get("PATH", os.defpath)))
    with Theirs(f"sqlite:///{target.absolute()}") as gradebook:
        gradebook.update_or_create_assignment(name)
        gradebook.update_or_create_notebook(NOTEBOOK, name)
        for criterion, points in [*most.items(), (BEYOND, 0.0)]:
            gradebook.update_or_create_grade_cell(criterion, NOTEBOOK, name, max_score=points, cell_type="code")
        for one in found:
            count(filled, one, str(one.student["name"]))
            if one.score is None:
                continue
            key = _login(book, one)
            first, _, last = str(one.student["name"]).rpartition(" ")
            gradebook.update_or_create_student(key, first_name=first or None, last_name=last)
            gradebook.update_or_create_submission(name, key)
            given = {c: sum(v.score for v in one.verdicts if v.criterion == c) for c in most}
            given[BEYOND] = one.score - sum(given.values())
            for criterion, score in given.items():
                grade = gradebook.find_grade(criterion, NOTEBOOK, name, key)
                grade.auto_score, grade.needs_manual_grade = score, False
        gradebook.db.commit()
    return filled


def _login(book: Gradebook, one: Standing) -> str:
    """By what nbgrader knows the student: the folder in submitted/, where there was one."""
    ids = {
        row["kind"]: row["value"] for row in book.rows("SELECT * FROM identifier WHERE student = ?", one.student["id"])
    }
    return next((str(ids[kind]) for kind in ("login", "label", "sid", "email") if kind in ids), one.student["alias"])
