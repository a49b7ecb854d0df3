"""Compare a run with the last ones on the same path, whose points are stored in a small file."""

from __future__ import annotations

import contextlib
import hashlib
from pathlib import Path

from pydantic import BaseModel, ConfigDict, ValidationError

from autograder.core.atomic import write_whole
from autograder.core.errors import BadInput
from autograder.grading.report import Report

STALLED = 1  # attempts without progress after which hints are shown


class _Stored(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Run(_Stored):
    """The result of the last run of all criteria."""

    score: float
    max_score: float
    criteria: dict[str, float]  # points by criterion
    not_implemented: tuple[str, ...]
    warnings: tuple[str, ...]
    sha256: str  # of the submission


class Part(_Stored):
    """The result of the last run of one criterion."""

    points: float
    sha256: str
    stalled: int = 0  # attempts, each with other code, since the last one that gained points


class History(_Stored):
    """The last runs on one path with one rubric."""

    rubric: str
    whole: Run | None = None
    parts: dict[str, Part] = {}

    @property
    def stalled(self) -> frozenset[str]:
        """Return the criteria in which the last attempts gained nothing."""
        return frozenset(name for name, part in self.parts.items() if part.stalled >= STALLED)

    def add(self, report: Report) -> History:
        """Return the history with one more run."""
        sha256 = report.submission.sha256
        parts = dict(self.parts)
        for name, points in _sum_points(report).items():
            before = parts.get(name)
            stalled = 0
            if before is not None and points <= before.points:
                stalled = before.stalled + (before.sha256 != sha256)
            parts[name] = Part(points=points, sha256=sha256, stalled=stalled)
        whole = self.whole
        if _is_whole(report):
            whole = Run(
                score=report.score,
                max_score=report.max_score,
                criteria=_sum_points(report),
                not_implemented=tuple(entry.name for entry in report.not_implemented),
                warnings=report.warnings,
                sha256=sha256,
            )
        return History(rubric=self.rubric, whole=whole, parts=parts)

    def describe_change(self, report: Report) -> str:
        """Return the change of the points since the last run of the same criteria; empty if there was none."""
        now = _sum_points(report)
        if _is_whole(report):
            before = self.whole.criteria if self.whole else {}
        else:
            before = {name: self.parts[name].points for name in now if name in self.parts}
        if not before:
            return ""
        gains = {name: points - before.get(name, 0) for name, points in now.items()}
        changes = {name: gain for name, gain in gains.items() if gain}
        beside = {criterion.id for criterion in report.criteria if criterion.bonus}
        gained = sum(gain for name, gain in gains.items() if name not in beside or len(gains) == 1)
        total = f"{gained:+g}" if changes else "no change"
        only = len(changes) < 2 and len(now) < 2
        parts = ", ".join(
            name if len(changes) == 1 and gain == gained else f"{name} {gain:+g}" for name, gain in changes.items()
        )
        return f"{total} since the last run{'' if only or not parts else f': {parts}'}"


def load(folder: Path, path: Path, rubric: str) -> History:
    """Return the runs on ``path`` stored in ``folder`` for the ``rubric``, if any."""
    try:
        found = History.model_validate_json(_locate_file(folder, path).read_bytes())
    except (OSError, ValidationError):  # none yet, or from an earlier version
        return History(rubric=rubric)
    return found if found.rubric == rubric else History(rubric=rubric)


def save(folder: Path, path: Path, history: History) -> None:
    """Store the runs on ``path`` in ``folder``, creating it if needed; ignore failures."""
    with contextlib.suppress(OSError, BadInput):
        folder.mkdir(parents=True, exist_ok=True)
        write_whole(_locate_file(folder, path), history.model_dump_json(indent=1) + "\n")


def _is_whole(report: Report) -> bool:
    return all(check.status != "skipped" for check in report.checks)


def _sum_points(report: Report) -> dict[str, float]:
    """Return the points by criterion, for the criteria of which a check ran."""
    ran = [check for check in report.checks if check.status != "skipped"]
    return {
        criterion.id: sum(check.score for check in ran if check.criterion == criterion.id)
        for criterion in report.criteria
        if any(check.criterion == criterion.id for check in ran)
    }


def _locate_file(folder: Path, path: Path) -> Path:
    return folder / f"{hashlib.sha256(bytes(path.absolute().resolve())).hexdigest()[:16]}.json"
