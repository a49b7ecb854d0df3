"""Define what the engine knows about an assignment. It is handed down from the command line, never imported.

An assignment is a package whose ``ASSIGNMENT`` is one of these. Its folder also has ``rubric.toml``, ``checks/`` and
``handed_out/``; docs/another-assignment.md shows how to write one.
"""

from __future__ import annotations

import difflib
import importlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from autograder.core.errors import BadInput

DEFAULT = "autograder.assignment"
CLOSE = 0.8  # of 1: similarity of two names of which one may be meant by the other
NOTEBOOK = "notebook.ipynb"  # a submission's notebook, whatever its original name


class Cause(Protocol):
    """A known mistake, as shown in messages."""

    @property
    def name(self) -> str:
        """Return the identifier that reports contain."""

    @property
    def task(self) -> str:
        """Return the handout's name for the task."""

    @property
    def sentence(self) -> str:
        """Return a sentence on the actual and the expected behaviour."""

    @property
    def full_text(self) -> str:
        """Return the sentence with the place to look and the task."""

    @property
    def where(self) -> str:
        """Return the method or function that has the mistake, such as ``Block.forward``; "" if it can be anywhere."""

    @property
    def pattern(self) -> str:
        """Return a pattern of the line that has the mistake; "" if there is none."""

    @property
    def raises(self) -> tuple[tuple[str, str], ...]:
        """Return the exceptions that identify the mistake: (type, pattern in the text)."""


@dataclass(frozen=True, slots=True)
class Definition:
    """A class or function that the student writes."""

    name: str
    module: str  # the file it is in, without .py
    task: str  # the handout's name for the task
    description: str
    optional: bool = False
    aliases: tuple[str, ...] = ()  # what tutorials call it
    width: str = ""  # of a class: the argument that is the size of its input's last axis; tokens have none


@dataclass(frozen=True, slots=True)
class Contract:
    """The definitions that students write, and their files.

    ``main`` is the module with the classes, which a notebook can replace. A notebook's ``helpers`` are graded even if
    nothing refers to them, such as a method that may also be a function of the file.
    """

    main: str
    definitions: tuple[Definition, ...] = ()  # in the order of the handout
    helpers: tuple[str, ...] = ()

    @property
    def file(self) -> str:
        """Return the file name of the main module."""
        return f"{self.main}.py"

    @property
    def files(self) -> tuple[str, ...]:
        """Return the file names of all definitions, the main file first."""
        return tuple(dict.fromkeys((self.file, *(f"{entry.module}.py" for entry in self.definitions))))

    @property
    def names(self) -> tuple[str, ...]:
        """Return the names of all definitions."""
        return tuple(entry.name for entry in self.definitions)

    @property
    def wanted(self) -> tuple[str, ...]:
        """Return the names that are needed from a notebook."""
        return (*self.names, *self.helpers)

    def find_closest(self, name: str) -> str:
        """Return the definition whose name, or an alias of it, is closest to ``name``; "" if none is close."""

        def closeness(entry: Definition) -> float:
            known = (entry.name, *entry.aliases)
            alike = max(difflib.SequenceMatcher(None, _fold(name), _fold(other)).ratio() for other in known)
            return max(alike, CLOSE if name.endswith(entry.name) else 0)

        closest = max(self.definitions, key=closeness, default=None)
        return closest.name if closest and closeness(closest) >= CLOSE else ""

    def input_width(self, name: str, arguments: Mapping[str, int]) -> int:
        """Return the size of the last axis of the input of the class ``name`` with these arguments; 0 for tokens."""
        return next((arguments[entry.width] for entry in self.definitions if entry.name == name and entry.width), 0)

    def module(self, name: str) -> str:
        """Return the module of the definition called ``name``: the main one, unless the contract has another."""
        return next((entry.module for entry in self.definitions if entry.name == name), self.main)


def _fold(name: str) -> str:
    return name.replace("_", "").casefold()


@dataclass(frozen=True, slots=True)
class Assignment:
    """Everything that the engine needs to know about one assignment."""

    module: str  # the package's importable name
    folder: Path  # that package's folder
    name: str  # used in reports, file names and packages
    title: str
    topic: str  # for platforms that sort questions by topic
    contract: Contract
    oracle: str = ""  # module whose class Operations answers the checks' questions, in a process with torch
    figures: Mapping[str, int] = field(default_factory=dict, hash=False)  # sizes that titles in the rubric can use
    exceptions: tuple[Cause, ...] = ()  # mistakes that an exception identifies; the first match counts

    @property
    def root(self) -> Path:
        """Return the folder from which ``module`` can be imported."""
        return self.folder.parents[self.module.count(".")]

    @property
    def rubric(self) -> Path:
        return self.folder / "rubric.toml"

    @property
    def checks(self) -> Path:
        """Return the folder of the checks, one file per criterion."""
        return self.folder / "checks"

    @property
    def handed_out(self) -> Path:
        """Return the folder of the files given to students; a submission without one of them uses it."""
        return self.folder / "handed_out"

    @property
    def parts(self) -> Path:
        """Return the file of correct parts: a class for each definition whose errors are carried forward."""
        return self.folder / "parts.py"

    @property
    def stubs(self) -> Path:
        """Return the folder of the files that students edit, as handed out."""
        return self.handed_out / "stub"


def load(module: str) -> Assignment:
    """Return the assignment in the package ``module``. Raises BadInput."""
    if not all(part.isidentifier() for part in module.split(".")):
        raise BadInput(f"--assignment {module}: not a package's name; give one with dots, such as {DEFAULT}")
    try:
        found = getattr(importlib.import_module(module), "ASSIGNMENT", None)
    except ModuleNotFoundError as error:
        if not f"{module}.".startswith(f"{error.name}."):
            raise  # the package exists, but one of its own imports does not
        raise BadInput(
            f"--assignment {module}: no module named {error.name}; give a package's name, such as {DEFAULT}"
        ) from None
    if not isinstance(found, Assignment):
        raise BadInput(f"--assignment {module}: it defines no ASSIGNMENT; see docs/another-assignment.md")
    return found
