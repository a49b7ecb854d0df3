"""Fill the grading worksheet of a Moodle assignment."""

from __future__ import annotations

import re

from autograder.core.csv_sheet import Sheet
from autograder.core.errors import BadInput
from autograder.course.output.export_format import (
    ExportedGrades,
    ExportRequest,
    ResultMatcher,
    choose_column,
    find_factor,
    find_sheet_problems,
    read_sheet,
    write_sheet,
)

NEEDS_NAMES = True
REQUIRED = ("Identifier", "Grade", "Last modified (grade)")
GRADE = re.compile(r"\d+([.,]\d+)?")
PARTICIPANT = re.compile(r"Participant \d+")


def write(request: ExportRequest) -> ExportedGrades:
    """Fill the column of grades. Raises BadInput."""
    sheet = read_sheet(request, "moodle")
    header = sheet.header
    absent = [name for name in REQUIRED if name not in header]
    if absent:
        raise BadInput(f"--sheet: no column {', '.join(absent)}; download the grading worksheet with Moodle in English")
    at = choose_column(request, ["Grade"], header)
    maximum = header.index("Maximum Grade") if "Maximum Grade" in header else None
    matcher, rows = ResultMatcher(request, sheet, len(header)), []
    for row, person, student in matcher.rows:
        cells = list(row)
        if person is not None:
            factor = find_factor(request, row[maximum]) if maximum is not None else 1.0
            cells[at] = matcher.format_score(person, student, factor) or row[at]
        rows.append(cells)
    write_sheet(request.target, Sheet(header, rows, sheet.delimiter), "moodle", find_problems)
    return matcher.finish()


def find_problems(sheet: Sheet) -> list[str]:
    """Return a sentence for each rule of Moodle's import of a grading worksheet that ``sheet`` breaks."""
    header, problems = sheet.header, find_sheet_problems(sheet)
    absent = [name for name in REQUIRED if name not in header]
    if absent:
        return [*problems, f"no column {', '.join(absent)}"]
    for row in sheet.rows:
        cells = dict(zip(header, row, strict=False))
        grade, maximum = cells["Grade"].strip(), cells.get("Maximum Grade", "").strip()
        if not PARTICIPANT.fullmatch(cells["Identifier"]):
            problems.append(f"{cells['Identifier']}: not Participant and a number")
        if grade and not GRADE.fullmatch(grade):
            problems.append(f"{grade}: not a grade")
        elif grade and GRADE.fullmatch(maximum) and float(grade.replace(",", ".")) > float(maximum.replace(",", ".")):
            problems.append(f"{grade}: above the maximum, so Moodle would skip the row")
    identifiers = [row[header.index("Identifier")] for row in sheet.rows]
    if len(set(identifiers)) != len(identifiers):
        problems.append("a participant appears twice")
    return problems
