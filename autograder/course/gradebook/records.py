"""Define the rows of the gradebook as values, so that only the store knows how they are stored."""

from __future__ import annotations

from dataclasses import dataclass

from autograder.grading.report import Verdict


@dataclass(frozen=True, slots=True)
class ReportKey:
    """The facts that, with a submission's hash, determine a report."""

    grader: str
    rubric: str
    seed: str

    def file_name(self, sha256: str) -> str:
        """Return the file name of the report on the sources with this hash."""
        return f"{sha256}.{self.grader.rpartition('+')[2]}.{self.rubric}.{self.seed}.json"


@dataclass(frozen=True, slots=True)
class Student:
    """A student, whose ``alias`` replaces the name in file names, and everywhere if names are hidden."""

    id: int
    alias: str
    name: str
    on_roster: bool

    def display_name(self, anonymous: bool) -> str:
        """Return the name or the alias, as people may see it."""
        return self.alias if anonymous else self.name


@dataclass(frozen=True, slots=True)
class Run:
    """A run over a course's submissions, or a rescoring of one."""

    id: int
    kind: str  # regrade, rescore
    state: str  # open, held (a score would drop), current (now or earlier)
    started: str
    finished: str  # empty while open
    source: str
    note: str
    key: ReportKey


@dataclass(frozen=True, slots=True)
class Entry:
    """A student's attempt in a run: its report, or the reason for having none."""

    student: int
    attempt: int  # counted from 1, per student
    latest: bool
    submitted: str
    partners: int  # other members of the group
    sha256: str
    trouble: str
    report: int | None


@dataclass(frozen=True, slots=True)
class StoredReport:
    """The facts about a report; the report itself is the file ``document`` in results/."""

    id: int
    sha256: str
    environment: str  # torch, Python, platform and sandbox layers
    document: str
    gradable: bool
    max_score: float
    graded: str


@dataclass(frozen=True, slots=True)
class StoredVerdict:
    """A verdict before overrides."""

    verdict: Verdict
    is_bonus: bool


@dataclass(frozen=True, slots=True)
class Override:
    """Points set manually, with the reason."""

    points: float
    reason: str
    who: str
    at: str


@dataclass(frozen=True, slots=True)
class DeletedFiles:
    """The files that only a deleted student had, and how many others submitted the sources that are kept."""

    hashes: tuple[str, ...]
    documents: tuple[str, ...]
    sharing: int
