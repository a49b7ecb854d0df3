"""What a student may read of a report on a platform: safe text, and nothing of a check that is not to be shown."""

from __future__ import annotations

from autograder.outcome import Status
from autograder.report import Report, Verdict, Visibility
from autograder.sandbox.wire import clean

CAP = 2000  # characters of one text

WITHHELD: dict[Visibility, str] = {
    "after_due_date": "It counts, and its result is shown after the due date.",
    "hidden": "It counts, and its result is not shown.",
}
SAYS: dict[Status, str] = {
    "passed": "Passed.",
    "missing": "To be written.",
    "skipped": "Not asked for.",
}


def safe(text: str) -> str:
    """``text`` without what a page or a terminal could take for more than text, and not too long."""
    return clean(text, CAP).replace("\t", " ")


def named(report: Report, check: Verdict) -> str:
    """A check by its criterion and title, which are unique together."""
    title = next(criterion.title for criterion in report.criteria if criterion.id == check.criterion)
    return safe(f"{title}: {check.title}")


def told(check: Verdict) -> str:
    """What there is to read of a check whose result is shown."""
    return safe(check.message or SAYS.get(check.status, ""))


def withheld(check: Verdict) -> str:
    """The same words for every submission, where the result is not shown."""
    return f"{WITHHELD[check.visibility]} The same check runs in `make grade`, with other random inputs."


def optional(report: Report, check: Verdict) -> bool:
    """Whether this is a bonus that was not tried: nothing to be counted as lost."""
    bonus = {criterion.id for criterion in report.criteria if criterion.bonus}
    return check.criterion in bonus and check.status in ("missing", "blocked")


def summary(report: Report) -> str:
    """What stands above the checks. It says no score: each platform has its own place for that, or withholds it."""
    lines = [f"Note: {remark}" for remark in report.remarks]
    begun = any(check.status not in ("missing", "blocked", "skipped") for check in report.checks)
    if report.unwritten and not begun:
        lines.append("Nothing is written yet: this is where everyone starts. What there is to write, in order:")
        lines += [f"{n}. {entry.name} ({entry.file}): {entry.what}" for n, entry in enumerate(report.unwritten, 1)]
    elif report.unwritten:
        first = report.unwritten[0]
        place = f"{first.file}, line {first.line}" if first.line else first.file
        lines.append(f"Next: {first.name} ({first.task}, {place}): {first.what}.")
    closed = sum(check.visibility != "visible" for check in report.checks)
    if closed:
        lines.append(f"{closed} of the {len(report.checks)} checks count without their result being shown.")
    printed = len(report.output.strip().splitlines())
    if printed:
        lines.append(f"Your code printed {printed} lines while it was graded; course staff can read them.")
    lines.append("`make grade` runs the same checks on your machine, with other random inputs.")
    return "\n".join(map(safe, lines))
