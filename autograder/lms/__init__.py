"""Support learning platforms: each module knows one platform's layout and turns a report into the file it reads.

To add a platform, add a file here, its name to PLATFORMS, and a validator in tests/validators. ``run`` grades on a
platform (``python -m autograder lms NAME``), ``package`` makes the instructor's upload (``python -m autograder package
NAME``) if the module has a function of that name, and ``view`` selects what students may read.
"""

from __future__ import annotations

import importlib
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from autograder.grading.report import Report

PLATFORMS = ("gradescope", "junit", "prairielearn")


@dataclass(frozen=True, slots=True)
class Paths:
    """The paths of a platform: submission, result, secret, root; and the assignment's name."""

    submission: Path
    result: Path
    secret: Path | None  # seeds the hidden inputs; None: a new one for each grading
    root: Path
    assignment: str = ""


class Platform(Protocol):
    """The interface of each platform module."""

    ROOT: Path  # the platform's own folder
    FAILED: int  # exit status for a grader failure

    def paths(self, root: Path) -> Paths:
        """Return the layout under ``root``."""

    def render_report(self, report: Report, place: Paths) -> str:
        """Return the platform's file for a gradable report."""

    def render_refusal(self, line: str, place: Paths) -> str:
        """Return the platform's file for an ungradable submission; ``line`` says what to do."""

    def render_failure(self, reason: str, report: Report | None, place: Paths) -> str | None:
        """Return the platform's file for a grader failure, never a zero; None if the platform expects no file then."""


def get(name: str) -> Platform:
    """Return the platform called ``name``, which is one of PLATFORMS."""
    platform: Platform = importlib.import_module(f"{__name__}.{name}")
    return platform
