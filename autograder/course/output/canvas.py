"""Fill a gradebook downloaded from Canvas."""

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
ASSIGNMENT = re.compile(r".+ \(\d+\)")  # the column of an assignment
IGNORED = re.compile(r"\b(Current|Final|Override) (Score|Points|Grade)\b")
SCORE = re.compile(r"\d+([.,]\d+)?")


def write(request: ExportRequest) -> ExportedGrades:
    """Fill one assignment's column and drop the other assignments. Raises BadInput."""
    sheet = read_sheet(request, "canvas")
    header = sheet.header
    if len(header) < 4 or "Student" not in header[0] or "ID" not in header[1] or "Section" not in header:
        raise BadInput("--sheet: not a Canvas gradebook (Student, ID, ..., Section, assignment); export it from Grades")
    info = header.index("Section") + 1
    at = choose_column(request, [name for name in header[info:] if ASSIGNMENT.fullmatch(name)], header)
    matcher, rows, factor = ResultMatcher(request, sheet, info), [], 1.0
    for row, person, student in matcher.rows:
        cell = row[at]
        if "Points Possible" in row[0]:
            factor = find_factor(request, cell)
        elif person is not None:
            cell = matcher.format_score(person, student, factor) or cell
        rows.append([*row[:info], cell])
    write_sheet(request.target, Sheet([*header[:info], header[at]], rows, sheet.delimiter), "canvas", find_problems)
    return matcher.finish()


def find_problems(sheet: Sheet) -> list[str]:
    """Return a sentence for each rule of Canvas's gradebook importer that ``sheet`` breaks."""
    header, problems = sheet.header, find_sheet_problems(sheet)
    if len(header) < 4 or "Student" not in header[0] or "ID" not in header[1]:
        return [*problems, "the header does not begin with Student, ID"]
    info = header[2 : header.index("Section") + 1] if "Section" in header else []
    allowed = ["SIS User ID", "SIS Login ID", "Integration ID", "Root Account", "Section"]
    if not info or info[-1] != "Section" or [name for name in allowed if name in info] != info:
        problems.append("the student columns are not ID, SIS User ID, SIS Login ID, ..., Section")
    assignments = header[len(info) + 2 :]
    if len(assignments) != 1 or not ASSIGNMENT.fullmatch(assignments[0]):
        problems.append("the score column has no number in brackets, so Canvas would create a new assignment")
    if any(IGNORED.search(name) for name in assignments):
        problems.append("a column of that name is ignored")
    seen = set()
    for row in sheet.rows:
        if "Points Possible" in row[0] or not any(cell.strip() for cell in row):
            continue
        if row[-1].strip() not in ("", "-", "EX") and not SCORE.fullmatch(row[-1].strip()):
            problems.append(f"{row[-1]}: not a score")
        if not row[1].strip().isdigit():
            problems.append(f"{row[0]}: no ID")
        elif row[1] in seen:
            problems.append(f"{row[0]}: appears twice")
        seen.add(row[1])
    return problems
