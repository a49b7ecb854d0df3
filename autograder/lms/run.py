"""Grade one submission on a platform. Every outcome becomes a result file; a grader failure gives no grade."""

from __future__ import annotations

import contextlib
import os
import tempfile
from pathlib import Path

from autograder import lms
from autograder.core.assignment import Assignment
from autograder.grading import subprocess_grade
from autograder.lms import Paths, Platform
from autograder.submission.archive import BadSubmission
from autograder.submission.read import read_submission

OFFICIAL = ("--official",)  # the option of `grade` for grades that count
DEADLINE = 540.0  # s; platforms stop at 600 and give an unfinished run zero


def run(assignment: Assignment, name: str, root: Path | None, submission: Path | None, out: Path | None) -> int:
    """Grade a submission on the platform ``name`` and return the exit status that it expects."""
    platform = lms.get(name)
    place = platform.paths(root or platform.ROOT)
    place = Paths(submission or place.submission, out or place.result, place.secret, place.root, assignment.name)
    place.result.parent.mkdir(parents=True, exist_ok=True)
    place.result.unlink(missing_ok=True)  # a result found later must be from this run
    try:
        read_submission(place.submission, assignment)
    except BadSubmission as error:
        line = str(error).removeprefix(f"{place.submission}: ")
        line = line.removeprefix(f"{place.submission}/")  # students know their files, not the platform's folders
        print(f"Nothing was graded: {line}")
        _write(place, platform.render_refusal(line, place))
        return 0
    with tempfile.TemporaryDirectory(prefix="autograder-") as folder:
        return _grade(assignment, platform, place, Path(folder) / "report.json")


def _grade(assignment: Assignment, platform: Platform, place: Paths, target: Path) -> int:
    options = [*OFFICIAL]
    if place.secret is not None:
        with contextlib.suppress(OSError):  # the platform may have unpacked it world-readable
            os.chmod(place.secret, 0o600)
        options += ["--secret-file", str(place.secret.absolute())]
    outcome = subprocess_grade.grade(assignment.module, place.submission, target, DEADLINE, *options)
    status, report = outcome.status, outcome.report
    if status == 0 and report is not None and report.gradable:
        for line in report.output.splitlines():
            print(f"  printed: {line}")
        _write(place, platform.render_report(report, place))
        return 0
    if status is None:
        reason = f"it did not finish within {DEADLINE:g} s"
    else:
        reason = f"it exited with status {status}" if status >= 0 else f"it was killed by signal {-status}"
    print(f"No grade, because the grader failed: {reason}. See the lines above.")
    text = platform.render_failure(reason, report, place)
    if text is not None:
        _write(place, text)
    return platform.FAILED


def _write(place: Paths, text: str) -> None:
    from autograder.core.atomic import write_whole

    write_whole(place.result, text)
