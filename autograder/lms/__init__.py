"""Platforms: one module each, which knows that platform's layout and turns a report into the file it reads.

A module without an underscore is a platform; adding one is adding a file here and its validator in tests/validators.
What they share lies in the modules with an underscore. ``python -m autograder lms NAME`` runs one (``_run``);
``python -m autograder package NAME`` makes what an instructor uploads (``_pack``), where the module has ``package``.
"""

from __future__ import annotations

import importlib
import pkgutil
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from autograder.report import Report


@dataclass(frozen=True, slots=True)
class Place:
    """Where a platform puts what is handed in, and where it looks for the result."""

    submission: Path
    result: Path
    secret: Path | None  # what the hidden inputs are drawn from; None: a new one for each grading
    root: Path


class Platform(Protocol):
    """What each module offers."""

    ROOT: Path  # the platform's own folder
    FAILED: int  # the exit status that the platform takes for "not graded, and not the student's fault"

    def place(self, root: Path) -> Place:
        """The layout under ``root``."""

    def graded(self, report: Report, place: Place) -> str:
        """The platform's file for a gradable report."""

    def refused(self, line: str, place: Place) -> str:
        """The platform's file where nothing that can be graded was handed in; ``line`` says what to do."""

    def failed(self, reason: str, report: Report | None, place: Place) -> str | None:
        """The platform's file for a failure of the grader, never a zero. None: it is told so by there being no file."""


def names() -> list[str]:
    """The platforms that there are."""
    return [module.name for module in pkgutil.iter_modules(__path__) if not module.name.startswith("_")]


def get(name: str) -> Platform:
    """The platform called ``name``, which is one of ``names()``."""
    platform: Platform = importlib.import_module(f"{__name__}.{name}")
    return platform
