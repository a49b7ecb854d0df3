"""Support learning platforms: each module knows one platform's layout and turns a report into the file it reads.

A module without an underscore is a platform; to add one, add a file here and a validator in tests/validators.
Modules with an underscore are shared. ``python -m autograder lms NAME`` runs a platform (``_run``);
``python -m autograder package NAME`` makes the instructor's upload (``_pack``), if the module has ``package``.
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
    """The paths of a platform: submission, result, secret, root."""

    submission: Path
    result: Path
    secret: Path | None  # seeds the hidden inputs; None: a new one for each grading
    root: Path


class Platform(Protocol):
    """The interface of each platform module."""

    ROOT: Path  # the platform's own folder
    FAILED: int  # the exit status that the platform takes for "not graded, and not the student's fault"

    def place(self, root: Path) -> Place:
        """Return the layout under ``root``."""

    def graded(self, report: Report, place: Place) -> str:
        """Return the platform's file for a gradable report."""

    def refused(self, line: str, place: Place) -> str:
        """Return the platform's file for an ungradable submission; ``line`` says what to do."""

    def failed(self, reason: str, report: Report | None, place: Place) -> str | None:
        """Return the platform's file for a grader failure, never a zero; None if an absent file means that."""


def names() -> list[str]:
    """List the platforms."""
    return [module.name for module in pkgutil.iter_modules(__path__) if not module.name.startswith("_")]


def get(name: str) -> Platform:
    """Return the platform called ``name``, which is one of ``names()``."""
    platform: Platform = importlib.import_module(f"{__name__}.{name}")
    return platform
