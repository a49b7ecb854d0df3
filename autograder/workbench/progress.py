"""Record a run in the history, write the page with every check beside it, and say what changed and what is left."""

from __future__ import annotations

import contextlib
from pathlib import Path

from autograder.core.assignment import Assignment
from autograder.core.atomic import write_whole
from autograder.core.errors import BadInput
from autograder.grading.report import Report
from autograder.render import html as pages
from autograder.render.terminal import Progress
from autograder.workbench import history as runs
from autograder.workbench import pack

PAGE = "report.html"


def record(assignment: Assignment, report: Report, path: Path, folder: Path, page: Path | None) -> Progress:
    """Add a run to the history in ``folder``; write its page to ``page``, or beside the folder if that is possible."""
    before = runs.load(folder, path, report.provenance.rubric)
    after = before.add(report)
    runs.save(folder, path, after)  # before printing, which `less` or `head` may cut short
    if page is None:
        with contextlib.suppress(OSError, BadInput):
            write_whole(folder.absolute().parent / PAGE, pages.render(report, hints=after.stalled))
            page = folder.absolute().parent / PAGE
    return Progress(
        change=before.describe_change(report),
        hints=after.stalled,
        page=page.name if page is not None else "",
        left=tuple(pack.find_answers_left(assignment, path)),
        next_step="make submit",
    )
