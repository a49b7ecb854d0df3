"""Gradescope: the layout under /autograder, results.json, and the zip file that an instructor uploads."""

from __future__ import annotations

import datetime
import json
from pathlib import Path
from typing import Any

from autograder.lms import Place, _pack, _view
from autograder.report import Report, Verdict

ROOT = Path("/autograder")
FAILED = 3  # without a results.json Gradescope says that the autograder failed, and gives no grade


def place(root: Path) -> Place:
    return Place(root / "submission", root / "results" / "results.json", root / "source" / "secret", root)


def graded(report: Report, place: Place) -> str:
    tests: list[dict[str, Any]] = []
    for major, criterion in enumerate(report.criteria, 1):
        for minor, check in enumerate(report.of(criterion.id), 1):
            tests += _tests(report, check, f"{major}.{minor}")
    return _document(
        score=report.score,
        output=_view.summary(report),
        execution_time=round(report.timing.wall, 2),
        tests=tests,
        extra_data=_handed_in(place) | _provenance(report),
    )


def refused(line: str, place: Place) -> str:
    """No points for what cannot be graded, with the reason; another upload mends it."""
    test = {"name": "What was handed in", "status": "failed", "output": _view.safe(line)}
    output = f"Nothing was graded: {_view.safe(line)}"
    return _document(score=0, output=output, tests=[test], extra_data=_handed_in(place))


def failed(reason: str, report: Report | None, place: Place) -> None:
    """Nothing: any file would be a grade. Staff read the reason in what the run printed."""


def package(secret: bytes, image: str) -> dict[str, _pack.Entry]:
    """What the zip file holds. Everything lies at its root; ``image`` plays no part."""
    own = {name: _pack.text(f"docker/gradescope/{name}", 0o755) for name in ("setup.sh", "run_autograder")}
    return own | _pack.grader() | {"secret": _pack.Entry(secret, 0o600)}


def _document(**parts: Any) -> str:
    formats = {"output_format": "text", "test_output_format": "text", "test_name_format": "text"}
    shown = {"visibility": "visible", "stdout_visibility": "hidden"}
    return json.dumps(parts | formats | shown, indent=1) + "\n"


def _tests(report: Report, check: Verdict, number: str) -> list[dict[str, Any]]:
    """The entry of a check; where its result is not shown, preceded by one that says that it is there."""
    result: dict[str, Any] = {"name": _view.named(report, check), "number": number, "output": _view.told(check)}
    if not _view.optional(report, check):
        status = "passed" if check.status == "passed" else "failed"
        result |= {"score": check.score, "max_score": check.max_score, "status": status}
    if check.visibility == "visible":
        return [result]
    there = {"name": result["name"], "number": number, "output": _view.withheld(check), "visibility": "visible"}
    return [there, result | {"name": f"{result['name']} (result)", "visibility": check.visibility}]


def _provenance(report: Report) -> dict[str, Any]:
    """What tells one grading from another."""
    facts = report.provenance.model_dump(include={"grader", "rubric", "seed_id", "torch", "python", "confinement"})
    return facts | {"sha256": report.submission.sha256}


def _handed_in(place: Place) -> dict[str, Any]:
    """Which attempt it is and how late, from Gradescope's own record alone, so that a rerun says the same."""
    try:
        data = json.loads((place.root / "submission_metadata.json").read_text("utf-8"))
        created = datetime.datetime.fromisoformat(data["created_at"])
        due = datetime.datetime.fromisoformat(data["assignment"]["due_date"])
        earlier = [entry for entry in data["previous_submissions"] if not entry["autograder_error"]]
        late = max(0.0, (created - due).total_seconds())
        return {"submission": int(data["id"]), "attempt": len(earlier) + 1, "seconds_late": late}
    except (OSError, ValueError, KeyError, TypeError):
        return {}  # a run by hand has none; nothing in the grade rests on it
