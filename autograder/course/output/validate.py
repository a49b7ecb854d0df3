"""Check whether a platform would import a sheet: return a sentence for each broken rule of its importer."""

from __future__ import annotations

import re
from collections.abc import Callable

from autograder.core.csv_sheet import Sheet, defuse

IGNORED = re.compile(r"\b(Current|Final|Override) (Score|Points|Grade)\b")
NUMBER = re.compile(r"\d+([.,]\d+)?")
PARTICIPANT = re.compile(r"Participant \d+")


def canvas(sheet: Sheet) -> list[str]:
    """Check a sheet for Canvas's gradebook importer."""
    header, problems = sheet.header, _common(sheet)
    if len(header) < 4 or "Student" not in header[0] or "ID" not in header[1]:
        return [*problems, "the header does not begin with Student, ID"]
    info = header[2 : header.index("Section") + 1] if "Section" in header else []
    allowed = ["SIS User ID", "SIS Login ID", "Integration ID", "Root Account", "Section"]
    if not info or info[-1] != "Section" or [name for name in allowed if name in info] != info:
        problems.append("the student columns are not ID, SIS User ID, SIS Login ID, ..., Section")
    assignments = header[len(info) + 2 :]
    if len(assignments) != 1 or not re.fullmatch(r".+ \(\d+\)", assignments[0]):
        problems.append("the score column has no number in brackets, so Canvas would create a new assignment")
    if any(IGNORED.search(name) for name in assignments):
        problems.append("a column of that name is ignored")
    seen = set()
    for row in sheet.rows:
        if "Points Possible" in row[0] or not any(cell.strip() for cell in row):
            continue
        if row[-1].strip() not in ("", "-", "EX") and not NUMBER.fullmatch(row[-1].strip()):
            problems.append(f"{row[-1]}: not a score")
        if not row[1].strip().isdigit():
            problems.append(f"{row[0]}: no ID")
        elif row[1] in seen:
            problems.append(f"{row[0]}: appears twice")
        seen.add(row[1])
    return problems


def moodle(sheet: Sheet) -> list[str]:
    """Check a sheet for Moodle's import of a grading worksheet."""
    header, problems = sheet.header, _common(sheet)
    absent = [name for name in ("Identifier", "Grade", "Last modified (grade)") if name not in header]
    if absent:
        return [*problems, f"no column {', '.join(absent)}"]
    for row in sheet.rows:
        cells = dict(zip(header, row, strict=False))
        grade, most = cells["Grade"].strip(), cells.get("Maximum Grade", "").strip()
        if not PARTICIPANT.fullmatch(cells["Identifier"]):
            problems.append(f"{cells['Identifier']}: not Participant and a number")
        if grade and not NUMBER.fullmatch(grade):
            problems.append(f"{grade}: not a grade")
        elif grade and NUMBER.fullmatch(most) and float(grade.replace(",", ".")) > float(most.replace(",", ".")):
            problems.append(f"{grade}: above the maximum, the row would be skipped")
    identifiers = [row[header.index("Identifier")] for row in sheet.rows]
    if len(set(identifiers)) != len(identifiers):
        problems.append("a participant appears twice")
    return problems


def plain(sheet: Sheet) -> list[str]:
    """Check a sheet for people and their spreadsheets."""
    return _common(sheet)


def _common(sheet: Sheet) -> list[str]:
    problems = [
        f"row {n}: wrong number of cells" for n, row in enumerate(sheet.rows, 2) if len(row) != len(sheet.header)
    ]
    problems += [f"{cell}: would be executed" for row in sheet.rows for cell in row if defuse(cell) != cell]
    if len(set(sheet.header)) != len(sheet.header):
        problems.append("a column appears twice")
    return problems


CHECKS: dict[str, Callable[[Sheet], list[str]]] = {"canvas": canvas, "moodle": moodle, "csv": plain}
