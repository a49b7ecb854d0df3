"""Support PrairieLearn's external grader: the layout under /grade, results.json, and the instructor's question."""

from __future__ import annotations

import json
import uuid
from pathlib import Path
from typing import Any

from autograder.core.assignment import Assignment
from autograder.core.zip_writer import Entry
from autograder.grading.report import Report, Verdict
from autograder.lms import Paths, view

ROOT = Path("/grade")
FAILED = 0  # any other status would lose the message; `gradable` marks the missing grade
TIMEOUT = 600  # s, PrairieLearn's maximum; a minute more than the grader's own limits allow

QUESTION = """\
<pl-question-panel>
  <p>Submit {files}, or your notebook.</p>
  <pl-file-upload optional-file-patterns="[!_.]*.py,[!_.]*.ipynb"></pl-file-upload>
</pl-question-panel>

<pl-submission-panel>
  <pl-external-grader-results></pl-external-grader-results>
  <pl-file-preview></pl-file-preview>
</pl-submission-panel>
"""


def paths(root: Path) -> Paths:
    return Paths(root / "student", root / "results" / "results.json", root / "tests" / "secret", root)


def render_report(report: Report, place: Paths) -> str:
    texts = view.visible_messages(report)
    return _format_document(
        gradable=True,
        succeeded=True,
        score=report.score / report.max_score,
        message=view.summarise(report),
        tests=[_format_check(report, check, texts[check.id]) for check in report.checks],
    )


def render_refusal(line: str, place: Paths) -> str:
    """Return an ungradable result, which uses up no attempt."""
    return _format_document(gradable=False, format_errors=[view.sanitise(line)], message="Nothing was graded.")


def render_failure(reason: str, report: Report | None, place: Paths) -> str:
    message = "The grader itself failed: you get no grade, and no attempt is used up. Please tell the course staff."
    return _format_document(gradable=False, message=message, format_errors=[message])


def package(assignment: Assignment, secret: bytes, image: str) -> dict[str, Entry]:
    """Return a question's folder; the grader itself is in the image."""
    info = {
        # Rebuilding the package must give a course the same question.
        "uuid": str(uuid.uuid5(uuid.NAMESPACE_URL, f"prairielearn/{assignment.name}/{image}")),
        "title": assignment.title,
        "topic": assignment.topic,
        "tags": ["code"],
        "type": "v3",
        "singleVariant": True,
        "gradingMethod": "External",
        "externalGradingOptions": {
            "enabled": True,
            "image": image,
            "entrypoint": ["/usr/local/bin/autograder", "--assignment", assignment.module, "lms", "prairielearn"],
            "timeout": TIMEOUT,
            "enableNetworking": False,
        },
    }
    files = " and ".join(f"<code>{name}</code>" for name in assignment.contract.files)
    folder = f"questions/{assignment.name}"
    return {
        f"{folder}/info.json": Entry(f"{json.dumps(info, indent=2)}\n".encode()),
        f"{folder}/question.html": Entry(QUESTION.format(files=files).encode()),
        f"{folder}/tests/secret": Entry(secret, 0o600),
    }


def _format_document(**parts: Any) -> str:
    return json.dumps(parts, indent=1) + "\n"


def _format_check(report: Report, check: Verdict, text: str) -> dict[str, Any]:
    """Return a check; without release dates on PrairieLearn, a withheld result stays hidden, as a neutral 0 of 0."""
    name = view.full_title(report, check)
    if check.visibility != "visible":
        return {"name": name, "points": 0, "max_points": 0, "message": view.WITHHELD["hidden"]}
    most = 0 if view.is_optional(report, check) else check.max_score
    return {"name": name, "points": check.score, "max_points": most, "message": text}
