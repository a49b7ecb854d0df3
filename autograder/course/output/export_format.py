"""Define the interface of a format of exported grades, and the steps that formats share."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from autograder.core import csv_sheet
from autograder.core.atomic import write_whole
from autograder.core.csv_sheet import Sheet, defuse
from autograder.core.errors import BadInput
from autograder.course.gradebook.match_students import match_students
from autograder.course.gradebook.results import StudentResult
from autograder.course.gradebook.store import Gradebook
from autograder.course.intake.identity import Person, parse_row


@dataclass(frozen=True, slots=True)
class ExportRequest:
    """The results to export, the file to write, and the options of the command."""

    book: Gradebook
    results: list[StudentResult]
    target: Path
    sheet: Path | None = None  # the gradebook downloaded from the platform
    column: str | None = None  # the column to fill, if several match
    scale: bool = False  # scale to the platform's maximum points
    anonymous: bool = False


@dataclass(slots=True)
class ExportedGrades:
    """The exported scores by student id, students without one, and graded students that the sheet does not list."""

    scores: dict[int, float] = field(default_factory=dict)
    without_score: list[str] = field(default_factory=list)
    not_in_sheet: list[str] = field(default_factory=list)

    def record(self, result: StudentResult, name: str) -> None:
        """Record a student's score, or under ``name`` that there is none."""
        if result.score is None:
            self.without_score.append(f"{name} ({result.trouble})")
        else:
            self.scores[result.student.id] = result.score


class ExportFormat(Protocol):
    """The interface of each format's module."""

    NEEDS_NAMES: bool  # refuse the export while names are hidden

    def write(self, request: ExportRequest) -> ExportedGrades:
        """Write the scores to the target; students without a grade are left blank. Raises BadInput."""


def read_sheet(request: ExportRequest, platform: str) -> Sheet:
    """Return the sheet to fill, with rows as long as its header. Raises BadInput."""
    if request.sheet is None:
        raise BadInput(
            f"{platform}: --sheet is missing; download the gradebook from there, and this command fills in the scores"
        )
    sheet = csv_sheet.read(request.sheet)
    rows = [row + [""] * (len(sheet.header) - len(row)) for row in sheet.rows]
    return Sheet(sheet.header, rows, sheet.delimiter)


def choose_column(request: ExportRequest, choices: list[str], header: list[str]) -> int:
    """Return the index of the column to fill: the one asked for, or the only choice. Raises BadInput."""
    if request.column is not None and request.column not in header:
        raise BadInput(f"--column {request.column}: not in the sheet; choose from {', '.join(choices)}")
    if request.column is None and len(choices) != 1:
        raise BadInput(f"--column: choose an assignment: {', '.join(choices) or 'none found'}")
    return header.index(request.column if request.column is not None else choices[0])


def find_factor(request: ExportRequest, possible: str) -> float:
    """Return the factor that scales full marks to the platform's ``possible`` points. Raises BadInput."""
    try:
        points = float(possible.strip().replace(",", "."))
    except ValueError:
        return 1.0
    max_score = max((result.max_score for result in request.results), default=0.0)
    if not max_score or points == max_score:
        return 1.0
    if not request.scale:
        raise BadInput(f"the sheet has {points:g} points, the rubric {max_score:g}; change one, or use --scale")
    return points / max_score


class ResultMatcher:
    """Match the rows of a sheet to results, and keep track of those without a match."""

    def __init__(self, request: ExportRequest, sheet: Sheet, columns: int) -> None:
        """Match all rows at once by the first ``columns``, since two rows may claim the same student."""
        people = [parse_row(row[:columns], sheet.header[:columns]) for row in sheet.rows]
        matched = iter(match_students(request.book, [person for person in people if person is not None]))
        self.rows = [
            (row, person, next(matched) if person is not None else None)
            for row, person in zip(sheet.rows, people, strict=True)
        ]
        self.exported = ExportedGrades()
        self._left = {result.student.id: result for result in request.results}

    def format_score(self, person: Person, student: int | None, factor: float) -> str:
        """Return the score for a row's cell, or "", and record it."""
        result = self._left.pop(student, None) if student is not None else None
        if result is None:
            self.exported.without_score.append(f"{person.display_name} (no submission)")
            return ""
        self.exported.record(result, person.display_name)
        return "" if result.score is None else f"{round(result.score * factor, 2):g}"

    def finish(self) -> ExportedGrades:
        """Return the record, with the graded students that no row listed."""
        self.exported.not_in_sheet = [one.student.name for one in self._left.values() if one.score is not None]
        return self.exported


def write_sheet(target: Path, sheet: Sheet, platform: str, find_problems: Callable[[Sheet], list[str]]) -> None:
    """Write ``sheet`` unless its importer would reject it. Raises BadInput."""
    text = sheet.text()
    problems = find_problems(csv_sheet.parse(text, str(target)))
    if problems:
        raise BadInput(f"{target}: {platform} would reject it: {problems[0]}")
    # Spreadsheets assume another encoding without a BOM; platforms would read it as part of the header.
    write_whole(target, ("\ufeff" if platform == "csv" else "") + text)


def find_sheet_problems(sheet: Sheet) -> list[str]:
    """Return a sentence for each general rule that ``sheet`` breaks."""
    problems = [
        f"row {n}: wrong number of cells" for n, row in enumerate(sheet.rows, 2) if len(row) != len(sheet.header)
    ]
    problems += [f"{cell}: would be executed" for row in sheet.rows for cell in row if defuse(cell) != cell]
    if len(set(sheet.header)) != len(sheet.header):
        problems.append("a column appears twice")
    return problems
