"""Grade once on a platform. Every outcome becomes that platform's file; a grader failure gives no grade.

Grading runs in its own process: if that is killed for memory or time, this one can still report it.
"""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from autograder import lms, submission
from autograder.lms import Place, Platform

OFFICIAL = ("--official",)  # option of `grade` for grades that count
TOP = Path(__file__).resolve().parents[2]
DEADLINE = 540.0  # s; platforms stop at 600 and give an unfinished run zero


def run(name: str, root: Path | None, handed_in: Path | None, out: Path | None) -> int:
    """Grade a submission on the platform ``name`` and return the exit status that it expects."""
    platform = lms.get(name)
    place = platform.place(root or platform.ROOT)
    place = Place(handed_in or place.submission, out or place.result, place.secret, place.root)
    place.result.parent.mkdir(parents=True, exist_ok=True)
    place.result.unlink(missing_ok=True)  # a result found later must be from this run
    try:
        submission.read(place.submission)
    except submission.BadSubmission as error:
        line = str(error).removeprefix(f"{place.submission}: ")
        line = line.removeprefix(f"{place.submission}/")  # students know their files, not the platform's folders
        print(f"Nothing was graded: {line}")
        _write(place, platform.refused(line, place))
        return 0
    with tempfile.TemporaryDirectory(prefix="autograder-") as folder:
        return _graded(platform, place, Path(folder) / "report.json")


def _graded(platform: Platform, place: Place, target: Path) -> int:
    command = ["-m", "autograder", "grade", str(place.submission.absolute()), "--json", str(target), *OFFICIAL]
    if place.secret is not None:
        with contextlib.suppress(OSError):  # the platform may have unpacked it world-readable
            os.chmod(place.secret, 0o600)
        command += ["--secret-file", str(place.secret.absolute())]
    # The platform's environment and current folder must not affect grading.
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "PYTEST"))}
    sys.stdout.flush()
    try:
        start = [sys.executable, "-s", "-B", *command]
        status = subprocess.run(start, timeout=DEADLINE, env=environment, cwd=TOP, check=False).returncode
        reason = f"it exited with status {status}" if status >= 0 else f"it was killed by signal {-status}"
    except subprocess.TimeoutExpired:
        status, reason = 3, f"it did not finish within {DEADLINE:g} s"
    from autograder.report import Report

    try:
        report = Report.model_validate_json(target.read_bytes())
    except (OSError, ValueError):
        report = None
    if status == 0 and report is not None and report.gradable:
        for line in report.output.splitlines():
            print(f"  printed: {line}")
        _write(place, platform.graded(report, place))
        return 0
    print(f"No grade, because the grader failed: {reason}. See the lines above.")
    text = platform.failed(reason, report, place)
    if text is not None:
        _write(place, text)
    return platform.FAILED


def _write(place: Place, text: str) -> None:
    from autograder.files import write_whole

    write_whole(place.result, text)
