"""Compare a run with the last one on the same path, whose points are stored in a small file."""

from __future__ import annotations

import contextlib
import hashlib
from pathlib import Path

from pydantic import BaseModel, ConfigDict, ValidationError

from autograder.core.atomic import write_whole
from autograder.core.errors import BadInput
from autograder.grading.report import Report


class Run(BaseModel):
    """The stored result of one run."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    sha256: str  # hash of the submission
    rubric: str
    score: float
    max_score: float
    criteria: dict[str, float]  # points by criterion
    not_implemented: tuple[str, ...]
    warnings: tuple[str, ...]


def load_last(folder: Path, path: Path) -> Run | None:
    """Return the last run on ``path`` stored in ``folder``, or None."""
    try:
        return Run.model_validate_json(_locate_file(folder, path).read_bytes())
    except (OSError, ValidationError):  # no stored run, or one from an earlier version
        return None


def save(folder: Path, path: Path, report: Report) -> None:
    """Store the points of ``report`` in ``folder``, creating it if needed; ignore failures."""
    run = Run(
        sha256=report.submission.sha256,
        rubric=report.provenance.rubric,
        score=report.score,
        max_score=report.max_score,
        criteria=_sum_points(report),
        not_implemented=tuple(entry.name for entry in report.not_implemented),
        warnings=report.warnings,
    )
    with contextlib.suppress(OSError, BadInput):
        folder.mkdir(parents=True, exist_ok=True)
        write_whole(_locate_file(folder, path), run.model_dump_json(indent=1) + "\n")


def describe_change(before: Run | None, report: Report) -> str:
    """Return one line on the changes since the run ``before``; empty if the runs cannot be compared."""
    if before is None or before.rubric != report.provenance.rubric:
        return ""
    now = _sum_points(report)
    gains = {name: points - before.criteria.get(name, 0) for name, points in now.items()}
    changes = {name: gain for name, gain in gains.items() if gain}
    if not changes:
        same = ", with the same code" if before.sha256 == report.submission.sha256 else ""
        return f"Same score as in the last run{same}."
    is_complete = len(now) == len(before.criteria)
    total = report.score - before.score if is_complete else sum(changes.values())
    parts = ", ".join(
        name if len(changes) == 1 and total == gain else f"{name} {gain:+g}" for name, gain in changes.items()
    )
    return f"{total:+g} since the last run: {parts}."


def _sum_points(report: Report) -> dict[str, float]:
    """Return the points by criterion, for the criteria that ran."""
    ran = [check for check in report.checks if check.status != "skipped"]
    return {
        criterion.id: sum(check.score for check in ran if check.criterion == criterion.id)
        for criterion in report.criteria
        if any(check.criterion == criterion.id for check in ran)
    }


def _locate_file(folder: Path, path: Path) -> Path:
    return folder / f"{hashlib.sha256(bytes(path.absolute().resolve())).hexdigest()[:16]}.json"
