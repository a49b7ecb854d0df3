"""Define verdicts and reports: plain data with a JSON schema, the only input of everything downstream of grading."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, field_validator, model_validator

SCHEMA = "autograder/report/2"

# Keys that version 1 named differently: (object in the report, old, new).
RENAMED_KEYS = (
    ("", "unwritten", "not_implemented"),
    ("", "remarks", "warnings"),
    ("submission", "form", "format"),
    ("provenance", "confinement", "sandbox"),
    ("provenance", "accepted", "accepted_risks"),
)

Status = Literal["passed", "partial", "failed", "not_implemented", "blocked", "timeout", "crashed", "skipped", "error"]

# When students may see a check's outcome. Platforms that cannot wait for a date treat the second as the third.
Visibility = Literal["visible", "after_due_date", "hidden"]

STATUS_PHRASES: dict[Status, str] = {
    "passed": "passed",
    "partial": "partly correct",
    "failed": "incorrect",
    "not_implemented": "not implemented",
    "blocked": "blocked",
    "timeout": "timed out",
    "crashed": "crashed",
    "skipped": "not selected",
    "error": "grader error",
}

NO_GRADE = "The grader itself failed in a check, so this submission has no grade. Please report it."

NOT_FINITE = "not finite"  # replaces a number in evidence that JSON cannot represent


class _Data(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, serialize_by_alias=True, validate_by_name=True)


class Diagnosis(_Data):
    """A named mistake that explains the measurement."""

    mistake: str
    message: str
    is_symptom: bool = False  # named by the exception alone, which can have many causes


class Location(_Data):
    """A place in the submission to look at, with the submission's own text."""

    file: str  # in a notebook, the cell in words
    line: int = 0  # 0 if only the file is known
    where: str = ""  # the class, method or function, such as Block.forward
    raised: str = ""  # the exception raised on this line
    column: int = 0  # of the code to mark, from 1 to ``end_column``; 0 if unknown
    end_column: int = 0
    first: int = 0  # number of the first line in ``source``
    source: tuple[str, ...] = ()  # this line and those around it

    @property
    def place(self) -> str:
        """Return the place as editors read it: ``main.py:12``."""
        if not self.line:
            return self.file
        return f"{self.file}:{self.line}" if self.file.endswith(".py") else f"{self.file}, line {self.line}"

    def introduce(self, message: str) -> str:
        """Return ``message`` with the place in front, or instead of the file that it begins with."""
        if message.startswith(f"{self.file} "):
            return f"{self.place}{message.removeprefix(self.file)}"
        return f"{self.place}: {message}"

    @property
    def text(self) -> str:
        """Return the line itself; empty if it is unknown."""
        return self.source[self.line - self.first] if 0 <= self.line - self.first < len(self.source) else ""


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
    hint: str = ""  # the rest of the message, for a student whose next attempt gained nothing
    diagnosis: tuple[Diagnosis, ...] = ()
    location: Location | None = None
    evidence: dict[str, Any] = {}

    @property
    def located_message(self) -> str:
        """Return the message with the place to look at in front."""
        return self.location.introduce(self.message) if self.location and self.message else self.message

    @field_validator("evidence")
    @classmethod
    def _replace_not_finite(cls, evidence: dict[str, Any]) -> dict[str, Any]:
        return {name: replace_not_finite(value) for name, value in evidence.items()}


class NotImplementedEntry(_Data):
    """A definition of the contract that is absent from the submission or still a stub."""

    name: str
    file: str
    line: int
    task: str
    description: str


class SubmissionFacts(_Data):
    """The graded submission."""

    id: str
    sha256: str
    format: str
    files: tuple[str, ...]


class Provenance(_Data):
    """The grader and the grading conditions, never the secret itself."""

    grader: str
    rubric: str
    seed_id: str
    torch: str
    python: str
    platform: str
    sandbox: tuple[str, ...]
    mode: Literal["local", "official"] = "local"  # official: only if the sandbox passed its self-test
    accepted_risks: tuple[str, ...] = ()  # escapes that were possible and that the person grading accepted


class Timing(_Data):
    """Times in seconds. Only this block and ``output`` differ between two gradings of the same submission.

    ``cpu`` covers the submission's own processes; ``checks`` gives CPU seconds of all processes for each check.
    """

    wall: float
    cpu: float
    checks: dict[str, float]


class CriterionFacts(_Data):
    """A copy of the rubric's criterion, so that a report can be shown without the rubric."""

    id: str
    title: str
    task: str
    bonus: bool


class Report(_Data):
    """All verdicts on one submission."""

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
    not_implemented: tuple[NotImplementedEntry, ...]
    warnings: tuple[str, ...] = ()  # warnings that belong to no check
    notes: tuple[str, ...] = ()  # facts that need no action
    output: str
    timing: Timing

    @model_validator(mode="before")
    @classmethod
    def _read_version_1(cls, document: Any) -> Any:
        """Accept a report of schema version 1, whose keys had other names."""
        if isinstance(document, dict) and str(document.get("schema", "")).endswith("/report/1"):
            return _upgrade(document)
        return document

    def of(self, criterion: str) -> tuple[Verdict, ...]:
        """Return the verdicts of one criterion, in order."""
        return tuple(verdict for verdict in self.checks if verdict.criterion == criterion)

    def to_json(self) -> str:
        """Return the JSON document, with keys in a fixed order and a final newline."""
        return self.model_dump_json(indent=1) + "\n"


def _upgrade(document: dict[str, Any]) -> dict[str, Any]:
    """Return a report of schema version 1 with the keys and the status of version 2."""
    for entry in document.get("unwritten", []):
        entry["description"] = entry.pop("what", "")
    for check in document.get("checks", []):
        check["status"] = "not_implemented" if check.get("status") == "missing" else check.get("status")
        for cause in check.get("diagnosis", []):
            cause["message"] = cause.pop("sentence", "")
    for part, old, new in RENAMED_KEYS:
        holder = document.get(part, {}) if part else document
        if old in holder:
            holder[new] = holder.pop(old)
    return document | {"schema": SCHEMA}


def replace_not_finite(value: Any) -> Any:
    """Replace each infinite number and NaN in ``value``, at any depth, with NOT_FINITE."""
    if isinstance(value, dict):
        return {key: replace_not_finite(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [replace_not_finite(item) for item in value]
    return NOT_FINITE if isinstance(value, float) and not math.isfinite(value) else value


def parse_numbers(values: Iterable[Any]) -> list[float]:
    """Return evidence as numbers to plot: NOT_FINITE, or null in an older report, becomes infinity."""
    return [value if isinstance(value, (int, float)) else math.inf for value in values]


def select_criterion(report: Report, criterion: str) -> Report:
    """Return the part of a report about one criterion, with its points."""
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
            "bonus": 0.0,
            "gradable": all(check.status != "error" for check in checks),
            "not_implemented": (),
            "warnings": (),
            "notes": (),
            "output": "",
        }
    )


def compute_totals(checks: tuple[Verdict, ...], bonus_criteria: set[str], total: int) -> tuple[float, float, float]:
    """Return (score, max_score, bonus); the bonus stands beside the score and never makes up for a lost point.

    If checks were skipped, the maximum is that of the checks that ran.
    """
    counted = [check for check in checks if check.criterion not in bonus_criteria]
    bonus = sum(check.score for check in checks if check.criterion in bonus_criteria)
    ran = [check for check in counted if check.status != "skipped"]
    maximum = total if len(ran) == len(counted) else sum(check.max_score for check in ran)
    return sum(check.score for check in counted), maximum, bonus


def format_score(score: float, max_score: float, bonus: float) -> str:
    """Return the score in words, with the bonus beside it."""
    return f"{score:g} of {max_score:g} points{f' + {bonus:g} bonus' if bonus else ''}"
