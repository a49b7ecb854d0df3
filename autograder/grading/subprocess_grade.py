"""Run ``grade`` in a subprocess, so that if the kernel kills the grader, the caller survives and can report it."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from autograder.core.paths import ROOT

if TYPE_CHECKING:
    from autograder.grading.report import Report


@dataclass(frozen=True, slots=True)
class Outcome:
    """The end of the process: its exit status (None after the deadline), its report if any, and its error output."""

    status: int | None
    report: Report | None
    error: str


def grade(assignment: str, path: Path, target: Path, deadline: float, *options: str, quiet: bool = False) -> Outcome:
    """Grade ``path`` within ``deadline`` seconds, and write the report to ``target``.

    The caller's environment and current folder have no effect. With ``quiet``, the output is captured.
    """
    command = [sys.executable, "-s", "-B", "-m", "autograder", "--assignment", assignment]
    command += ["grade", str(path.absolute()), "--json", str(target), *options]
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "PYTEST"))}
    sys.stdout.flush()
    try:
        completed = subprocess.run(
            command, cwd=ROOT, env=environment, capture_output=quiet, text=True, timeout=deadline, check=False
        )
        status, error = completed.returncode, completed.stderr or ""
    except subprocess.TimeoutExpired:
        status, error = None, ""
    from autograder.grading.report import Report

    try:
        report = Report.model_validate_json(target.read_bytes())
    except (OSError, ValueError):
        report = None
    return Outcome(status, report, error)
