"""Find faults in messages to students: too long, no measured number, or a line of the solution."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterator

from autograder.grading.report import Report
from tests.conftest import ROOT

WIDTH, LINES = 76, 4  # a terminal of 80 columns, less the indent of a message
LEAST = 14  # characters; shorter lines of code reveal nothing
MEASURED = ("failed", "partial")
REGION = re.compile(r"### BEGIN SOLUTION\n(.*?)### END SOLUTION", re.DOTALL)


def solution() -> set[str]:
    """Return the lines of code that students have to write, without blank lines and comments."""
    texts = [(ROOT / "reference" / name).read_text("utf-8") for name in ("gpt.py", "paper.py")]
    lines = [line for text in texts for region in REGION.findall(text) for line in region.splitlines()]
    bare = {_bare(line.partition("#")[0]) for line in lines}
    return {line for line in bare if len(line) >= LEAST}


def _bare(text: str) -> str:
    return re.sub(r"\s+", "", text)


SOLUTION = solution()


def hard_to_read(report: Report) -> Iterator[str]:
    """Return the faults in a report's messages, which may quote the student's own lines but not the solution."""
    for check in report.checks:
        if check.status == "passed":
            continue
        said = f"{check.id}: {check.message}"
        if len(textwrap.wrap(check.message, WIDTH)) > LINES:
            yield f"longer than {LINES} lines: {said}"
        is_raised = check.location is not None and check.location.raised
        if check.status in MEASURED and not is_raised and not re.search("[0-9]", check.message):
            yield f"no number: {said}"
        words = _bare(re.sub("`[^`]*`", "", check.message))
        if any(line in words for line in SOLUTION):
            yield f"a line of the solution: {said}"
