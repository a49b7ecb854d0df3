"""Verdicts and reports: plain data, with a JSON schema. Everything downstream of grading reads only this."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, field_validator

from autograder.outcome import Status

SCHEMA = "gpt-assembly/report/1"

# When students may read the outcome of a check. Platforms that cannot wait for a date take the second for the third.
Visibility = Literal["visible", "after_due_date", "hidden"]

NOT_FINITE = "not finite"  # in evidence, for a number that JSON cannot hold


class _Data(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, serialize_by_alias=True, validate_by_name=True)


class Diagnosis(_Data):
    """A named cause that fits what was measured."""

    mistake: str
    sentence: str


class Verdict(_Data):
    """The outcome of one check."""

    id: str
    criterion: str
    title: str
    status: Status
    score: float
    max_score: float
    visibility: Visibility = "visible"
    message: str = ""
    diagnosis: tuple[Diagnosis, ...] = ()
    evidence: dict[str, Any] = {}

    @field_validator("evidence")
    @classmethod
    def _finite(cls, evidence: dict[str, Any]) -> dict[str, Any]:
        return {name: finite(value) for name, value in evidence.items()}


class Unwritten(_Data):
    """A definition of the contract that the submission does not have yet, or has only as a stub."""

    name: str
    file: str
    line: int
    task: str
    what: str


class SubmissionFacts(_Data):
    """What was graded."""

    id: str
    sha256: str
    form: str
    files: tuple[str, ...]


class Provenance(_Data):
    """What graded it, and under which conditions; the secret itself is never here."""

    grader: str
    rubric: str
    seed_id: str
    torch: str
    python: str
    platform: str
    confinement: tuple[str, ...]
    mode: Literal["local", "official"] = "local"  # official: only where student code is seen to be kept in
    accepted: tuple[str, ...] = ()  # what it could do all the same, where whoever grades has accepted that


class Timing(_Data):
    """Seconds. The only block that differs between two gradings of the same submission, with ``output``.

    ``cpu`` is that of the submission's own processes; ``checks`` counts CPU seconds of all processes, check by check.
    """

    wall: float
    cpu: float
    checks: dict[str, float]


class CriterionFacts(_Data):
    """A criterion as the rubric had it, so that a report can be shown without the rubric."""

    id: str
    title: str
    task: str
    bonus: bool


class Report(_Data):
    """All verdicts of one submission."""

    schema_: str = Field(SCHEMA, alias="schema")
    assignment: str
    submission: SubmissionFacts
    provenance: Provenance
    score: float
    max_score: float
    bonus: float
    gradable: bool
    criteria: tuple[CriterionFacts, ...]
    checks: tuple[Verdict, ...]
    unwritten: tuple[Unwritten, ...]
    remarks: tuple[str, ...] = ()  # what went wrong beside the checks
    output: str
    timing: Timing

    def of(self, criterion: str) -> tuple[Verdict, ...]:
        """The verdicts of one criterion, in order."""
        return tuple(verdict for verdict in self.checks if verdict.criterion == criterion)

    def to_json(self) -> str:
        """The document, keys in a fixed order, ending in a line end."""
        return self.model_dump_json(indent=1) + "\n"


def finite(value: Any) -> Any:
    """Replace each infinite number and NaN in ``value``, at any depth, by NOT_FINITE."""
    if isinstance(value, dict):
        return {key: finite(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [finite(item) for item in value]
    return NOT_FINITE if isinstance(value, float) and not math.isfinite(value) else value


def numbers(values: Iterable[Any]) -> list[float]:
    """Return numbers of evidence to draw: NOT_FINITE, or the null of an older report, becomes infinity."""
    return [value if isinstance(value, (int, float)) else math.inf for value in values]


def narrowed(report: Report, criterion: str) -> Report:
    """What a report says about one criterion, with its points."""
    checks = report.of(criterion)
    facts = next(row for row in report.criteria if row.id == criterion)
    score, most = sum(check.score for check in checks), sum(check.max_score for check in checks)
    named = report.submission.model_copy(update={"id": f'check("{criterion}")'})
    return report.model_copy(
        update={
            "submission": named,
            "checks": checks,
            "criteria": (facts,),
            "score": score,
            "max_score": most,
            "gradable": all(check.status != "error" for check in checks),
            "unwritten": (),
            "remarks": (),
            "output": "",
        }
    )


def totals(checks: tuple[Verdict, ...], bonus_criteria: set[str], total: int) -> tuple[float, float, float]:
    """(score, max_score, bonus): the bonus lifts the score, but never above the maximum.

    With skipped checks the maximum is that of the checks that ran.
    """
    counted = [check for check in checks if check.criterion not in bonus_criteria]
    bonus = sum(check.score for check in checks if check.criterion in bonus_criteria)
    ran = [check for check in counted if check.status != "skipped"]
    maximum = total if len(ran) == len(counted) else sum(check.max_score for check in ran)
    return min(maximum, sum(check.score for check in counted) + bonus), maximum, bonus
