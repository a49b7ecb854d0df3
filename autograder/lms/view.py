"""Select the parts of a report that a student may read on a platform: safe text, and nothing from hidden checks."""

from __future__ import annotations

from autograder.core.text import clean
from autograder.grading.causes import describe_checks, find_causes
from autograder.grading.report import STATUS_PHRASES, Report, Verdict, Visibility

MAX_CAUSES = 8  # listed above the checks
MAX_CHARACTERS = 2000  # characters of one text

WITHHELD: dict[Visibility, str] = {
    "after_due_date": "This check counts; its result is shown after the due date.",
    "hidden": "This check counts; its result is not shown.",
}


def sanitise(text: str) -> str:
    """Return ``text`` shortened and without control characters that a page or terminal could interpret."""
    return clean(text, MAX_CHARACTERS).replace("\t", " ")


def full_title(report: Report, check: Verdict) -> str:
    """Return a check's criterion and title, which together are unique."""
    title = next(criterion.title for criterion in report.criteria if criterion.id == check.criterion)
    return sanitise(f"{title}: {check.title}")


def visible_messages(report: Report) -> dict[str, str]:
    """Return the text of each check by its id. A cause is explained once, where students can see it."""
    withheld = [check for check in report.checks if check.visibility != "visible"]
    texts = {id: text for check in withheld for id, text in describe_checks([check]).items()}
    texts |= describe_checks(check for check in report.checks if check.visibility == "visible")
    phrases = {check.id: f"{STATUS_PHRASES[check.status].capitalize()}." for check in report.checks}
    return {id: sanitise(texts.get(id) or phrase) for id, phrase in phrases.items()}


def withheld_message(check: Verdict) -> str:
    """Return the text of a check whose result is not shown, the same for every submission."""
    return f"{WITHHELD[check.visibility]} `make grade` runs the same check with other random inputs."


def is_optional(report: Report, check: Verdict) -> bool:
    """Return whether this is a bonus check that was not attempted, so no points are lost."""
    bonus = {criterion.id for criterion in report.criteria if criterion.bonus}
    return check.criterion in bonus and check.status in ("not_implemented", "blocked")


def summarise(report: Report) -> str:
    """Return the text above the checks, without a score, since each platform shows or withholds the score itself."""
    lines = [f"Note: {warning}" for warning in report.warnings]
    is_begun = any(check.status not in ("not_implemented", "blocked", "skipped") for check in report.checks)
    if report.not_implemented and not is_begun:
        lines.append("Nothing is implemented yet. To do, in order:")
        lines += [
            f"{n}. {entry.name} ({entry.file}): {entry.description}"
            for n, entry in enumerate(report.not_implemented, 1)
        ]
    else:
        shown = report.model_copy(
            update={"checks": tuple(check for check in report.checks if check.visibility == "visible")}
        )
        causes = [cause for cause in find_causes(shown) if not cause.is_undone][:MAX_CAUSES]
        for number, cause in enumerate(causes):
            place = f"{cause.location.place}: " if cause.location else ""
            lines.append(f"{'Then' if number else 'Fix first'}: {place}{cause.headline}")
        if report.not_implemented and not causes:
            first = report.not_implemented[0]
            place = f"{first.file}:{first.line}" if first.line else first.file
            lines.append(f"Next: {first.name} ({first.task}), {place}: {first.description}.")
    withheld = sum(check.visibility != "visible" for check in report.checks)
    if withheld:
        lines.append(f"{withheld} of the {len(report.checks)} checks count, but their results are not shown.")
    printed = len(report.output.strip().splitlines())
    if printed:
        lines.append(f"Lines printed by your code during grading: {printed} (visible to course staff).")
    lines.append("`make grade` runs the same checks on your machine with other random inputs.")
    return "\n".join(map(sanitise, lines))
