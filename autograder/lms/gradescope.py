"""Support Gradescope: the layout under /autograder, results.json, and the zip file that an instructor uploads."""

from __future__ import annotations

import datetime
import json
from pathlib import Path
from typing import Any

from autograder.core.assignment import DEFAULT, Assignment
from autograder.core.zip_writer import Entry
from autograder.grading.report import Report, Verdict
from autograder.lms import Paths, view
from autograder.lms.package_files import collect_grader, read_text

ROOT = Path("/autograder")
FAILED = 3  # without a results.json Gradescope reports a failed autograder and gives no grade


def paths(root: Path) -> Paths:
    return Paths(root / "submission", root / "results" / "results.json", root / "source" / "secret", root)


def render_report(report: Report, place: Paths) -> str:
    tests: list[dict[str, Any]] = []
    texts = view.visible_messages(report)
    for major, criterion in enumerate(report.criteria, 1):
        for minor, check in enumerate(report.of(criterion.id), 1):
            tests += _format_check(report, check, f"{major}.{minor}", texts[check.id])
    return _format_document(
        score=report.score + report.bonus,  # above the maximum is extra credit
        output=view.summarise(report),
        execution_time=round(report.timing.wall, 2),
        tests=tests,
        extra_data=_read_attempt(place) | _select_provenance(report),
    )


def render_refusal(line: str, place: Paths) -> str:
    """Return zero points with the reason the submission cannot be graded; a new upload fixes it."""
    test = {"name": "Submission", "status": "failed", "output": view.sanitise(line)}
    output = f"Nothing was graded: {view.sanitise(line)}"
    return _format_document(score=0, output=output, tests=[test], extra_data=_read_attempt(place))


def render_failure(reason: str, report: Report | None, place: Paths) -> None:
    """Return None: any file would be a grade. Staff find the reason in the run's output."""


def package(assignment: Assignment, secret: bytes, image: str) -> dict[str, Entry]:
    """Return the contents of the zip file, all at its root; ``image`` is unused."""
    scripts = {name: read_text(f"docker/gradescope/{name}", 0o755) for name in ("setup.sh", "run_autograder")}
    if assignment.module != DEFAULT:
        run = scripts["run_autograder"]
        command = f"autograder --assignment {assignment.module} lms".encode()
        scripts["run_autograder"] = Entry(run.data.replace(b"autograder lms", command), run.mode)
    return scripts | collect_grader(assignment) | {"secret": Entry(secret, 0o600)}


def _format_document(**parts: Any) -> str:
    formats = {"output_format": "text", "test_output_format": "text", "test_name_format": "text"}
    shown = {"visibility": "visible", "stdout_visibility": "hidden"}
    return json.dumps(parts | formats | shown, indent=1) + "\n"


def _format_check(report: Report, check: Verdict, number: str, text: str) -> list[dict[str, Any]]:
    """Return the entry of a check; if its result is not shown, a visible entry that says so comes first."""
    result: dict[str, Any] = {
        "name": view.full_title(report, check),
        "number": number,
        "output": text,
    }
    if not view.is_optional(report, check):
        status = "passed" if check.status == "passed" else "failed"
        result |= {"score": check.score, "max_score": check.max_score, "status": status}
    if check.visibility == "visible":
        return [result]
    notice = {"name": result["name"], "number": number, "output": view.withheld_message(check), "visibility": "visible"}
    return [notice, result | {"name": f"{result['name']} (result)", "visibility": check.visibility}]


def _select_provenance(report: Report) -> dict[str, Any]:
    """Return the facts that identify a grading."""
    facts = report.provenance.model_dump(include={"grader", "rubric", "seed_id", "torch", "python", "sandbox"})
    return facts | {"sha256": report.submission.sha256}


def _read_attempt(place: Paths) -> dict[str, Any]:
    """Return the attempt number and lateness from Gradescope's own record, so that a rerun gives the same numbers."""
    try:
        data = json.loads((place.root / "submission_metadata.json").read_text("utf-8"))
        created = datetime.datetime.fromisoformat(data["created_at"])
        due = datetime.datetime.fromisoformat(data["assignment"]["due_date"])
        earlier = [entry for entry in data["previous_submissions"] if not entry["autograder_error"]]
        late = max(0.0, (created - due).total_seconds())
        return {"submission": int(data["id"]), "attempt": len(earlier) + 1, "seconds_late": late}
    except (OSError, ValueError, KeyError, TypeError):
        return {}  # absent in a manual run; the grade does not depend on it
