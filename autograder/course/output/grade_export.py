"""Export the scores that count, and record the export."""

from __future__ import annotations

from pathlib import Path

from autograder.core.errors import BadInput
from autograder.course.gradebook.results import compute_results
from autograder.course.gradebook.store import Gradebook
from autograder.course.output import FORMATS, get_format
from autograder.course.output.export_format import ExportedGrades, ExportRequest


def export_grades(
    book: Gradebook,
    format_name: str,
    target: Path,
    sheet: Path | None = None,
    column: str | None = None,
    scale: bool = False,
) -> ExportedGrades:
    """Write the scores that count to ``target`` and record the export. Raises BadInput.

    Args:
        book: the gradebook, which knows whether names are hidden
        format_name: one of FORMATS
        target: the file to write
        sheet: the gradebook downloaded from the platform, for formats that fill one
        column: the column to fill, if several match
        scale: scale to the platform's maximum points
    """
    if format_name not in FORMATS:
        raise BadInput(f"export {format_name}: no such format; choose from {', '.join(FORMATS)}")
    export_format = get_format(format_name)
    anonymous = book.is_anonymous
    if anonymous and export_format.NEEDS_NAMES:
        raise BadInput(f"{format_name}: this format needs names, which are hidden; --no-anonymous shows them")
    run = book.require_current_run()
    results = list(compute_results(book, run))
    exported = export_format.write(ExportRequest(book, results, target, sheet, column, scale, anonymous))
    with book.transaction():
        book.record_export(run, format_name, str(target), exported.scores)
    return exported
