"""Group the checks that did not pass by cause, in the order in which a student should fix them.

One cause is one named mistake, one line that raises one kind of exception, one symptom such as NaN, one definition that
is not implemented, or, if nothing is known, the failures of one class or function in one criterion.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from autograder.grading.report import STATUS_PHRASES, Diagnosis, Location, Report, Status, Verdict

UNDONE: tuple[Status, ...] = ("not_implemented", "blocked")
STOPPED: tuple[Status, ...] = ("timeout", "crashed")
Key = tuple[str, ...]


@dataclass(slots=True)
class Cause:
    """A cause, the checks that fail because of it, and the verdict that explains it best, which is the first."""

    checks: list[Verdict]
    keys: set[Key]
    other: Diagnosis | None = None  # a mistake that only the message of another cause's check names
    names: set[str] = field(default_factory=set)

    @property
    def main(self) -> Verdict:
        """Return the verdict that explains the cause."""
        return self.checks[0]

    @property
    def location(self) -> Location | None:
        return self.main.location

    @property
    def is_undone(self) -> bool:
        """Return whether the cause is a definition that is not implemented yet."""
        return any(key[0] == "definition" for key in self.keys)

    @property
    def is_known(self) -> bool:
        """Return whether more than the criterion connects the checks."""
        return any(key[0] != "unknown" for key in self.keys)

    @property
    def points(self) -> float:
        """Return the points that the cause costs."""
        return sum(check.max_score - check.score for check in self.checks) if self.other is None else 0.0

    @property
    def headline(self) -> str:
        """Return the cause in one sentence: the mistakes by name, else the message."""
        if self.other is not None:
            return self.other.message
        if self.main.hint:  # which names the mistake, and may have to wait
            return self.main.message
        if self.names:
            return " ".join(one.message for one in self.main.diagnosis if one.mistake in self.names)
        return self.main.message


def find_causes(report: Report) -> list[Cause]:
    """Return the causes of all lost points, failures first, then what is not implemented; a bonus not begun is none."""
    bonus = {criterion.id for criterion in report.criteria if criterion.bonus}
    lost = [
        check
        for check in report.checks
        if check.status not in ("passed", "skipped") and not (check.criterion in bonus and check.status in UNDONE)
    ]
    found = group_checks(lost)
    return sorted(found, key=lambda cause: (cause.is_undone, cause.main.criterion in bonus))


def group_checks(checks: Iterable[Verdict]) -> list[Cause]:
    """Return the causes of ``checks`` that did not pass, in the order of the checks."""
    found: list[Cause] = []
    for check in checks:
        keys = set(_find_keys(check))
        symptoms = {key for key in keys if key[0] == "symptom"}  # a named mistake has its own
        joins = keys - symptoms if any(key[0] == "mistake" for key in keys) else keys
        cause = next((cause for cause in found if cause.keys & joins), None)
        if cause is None:
            found.append(Cause([check], keys, names={one.mistake for one in check.diagnosis if not one.is_symptom}))
            continue
        cause.checks.append(check)
        cause.keys |= {key for key in keys if key[0] == "line"} | symptoms
    return [*found, *_find_others(found)]


def describe_checks(checks: Iterable[Verdict], explained: Iterable[Cause] = ()) -> dict[str, str]:
    """Return the text for each check by its id: a cause is explained once, where it comes first.

    Checks refer to the causes ``explained``, an ordered list elsewhere, by number.
    """
    texts = {}
    numbers = {cause.main.id: number for number, cause in enumerate(explained, 1) if cause.other is None}
    checks = [check for check in checks if check.status != "skipped"]
    for check in checks:
        if check.status == "passed":
            texts[check.id] = check.message
    for cause in group_checks(check for check in checks if check.status != "passed"):
        if cause.other is not None:
            continue
        titles: dict[str, str] = {}  # of the check that first has a message
        for check in cause.checks:
            first = cause.main.title if cause.is_known else titles.setdefault(check.message, check.title)
            texts[check.id] = check.located_message or f"{STATUS_PHRASES[check.status].capitalize()}."
            number = numbers.get(cause.main.id)
            reference = f"See cause {number}." if number else f"Same cause as “{first}”."
            if check is cause.main:
                texts[check.id] = reference if number else texts[check.id]
            elif check.title != first:
                measured = _find_measurement(check) if cause.is_known else ""
                texts[check.id] = f"{measured} {reference}".strip()
    return texts


def _find_measurement(check: Verdict) -> str:
    """Return the part of a message before the cause: empty for an exception, which is the same everywhere."""
    if _is_raised(check) or check.status in (*UNDONE, *STOPPED):
        return ""
    first = check.diagnosis[0].message if check.diagnosis else check.message
    return check.message.partition(first.removesuffix("."))[0].strip()


def _find_others(found: Iterable[Cause]) -> Iterator[Cause]:
    """Yield the mistakes that a check names beside the one with which it was grouped."""
    known = {name for cause in found for name in cause.names}
    for cause in found:
        for check in cause.checks:
            for one in check.diagnosis if " Or: " not in check.message else ():
                if one.mistake not in known and not one.is_symptom:
                    known.add(one.mistake)
                    yield Cause([check], set(), other=one, names={one.mistake})


def _find_keys(check: Verdict) -> Iterator[Key]:
    """Yield the keys of a verdict; verdicts that share one have the same cause."""
    place = check.location
    if check.status in UNDONE and (place is None or not place.raised):
        yield "definition", place.where.partition(".")[0] or place.file if place else check.message
        return
    named = [one.mistake for one in check.diagnosis if not one.is_symptom]
    yield from (("mistake", name) for name in named)
    if symptom := check.evidence.get("symptom"):
        yield "symptom", str(symptom)
    if place is not None and (place.raised or check.status in STOPPED):
        yield "line", place.file, str(place.line), place.raised or check.status
    elif not named:
        yield "unknown", check.criterion, place.where.partition(".")[0] if place is not None else ""


def _is_raised(check: Verdict) -> bool:
    return check.location is not None and bool(check.location.raised)
