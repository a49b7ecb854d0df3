"""Export a table for people and their spreadsheets: score, points by criterion, reason for a missing grade."""

from __future__ import annotations

from autograder.core.csv_sheet import Sheet
from autograder.course.output.export_format import ExportedGrades, ExportRequest, find_sheet_problems, write_sheet

NEEDS_NAMES = False


def write(request: ExportRequest) -> ExportedGrades:
    """Write one row per student, with an alias instead of the name if names are hidden. Raises BadInput."""
    results, exported = request.results, ExportedGrades()
    criteria = list(
        dict.fromkeys(v.criterion for one in results for v in one.verdicts if v.criterion not in one.bonus_criteria)
    )
    header = ["student", "name", "score", "max_score", "bonus", "written", *criteria, "no_grade_because", "set_by_hand"]
    rows = []
    for result in results:
        name = result.student.display_name(request.anonymous)
        points = {
            criterion: sum(v.score for v in result.verdicts if v.criterion == criterion) for criterion in criteria
        }
        row: list[object] = [result.student.alias, name]
        row += [result.score, result.max_score, result.bonus] if result.score is not None else ["", "", ""]
        row += [result.written if result.written is not None else ""]
        row += [points[one] if result.verdicts and result.score is not None else "" for one in criteria]
        row += [result.trouble, "; ".join(f"{target}: {one.reason}" for target, one in result.overrides.items())]
        rows.append([f"{cell:g}" if isinstance(cell, float) else str(cell) for cell in row])
        exported.record(result, name)
    write_sheet(request.target, Sheet(header, rows), "csv", find_problems)
    return exported


def find_problems(sheet: Sheet) -> list[str]:
    """Return a sentence for each way in which a spreadsheet would misread ``sheet``."""
    return find_sheet_problems(sheet)
