"""The rubric: which checks exist, in which order, for how many points, under which title. No points in code.

Read from ``rubric.toml`` and validated whole; a mistake in it is reported with file, line and remedy.
"""

from __future__ import annotations

import hashlib
import tomllib
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from autograder.assignment import ASSIGNMENT, Assignment
from autograder.oracle import ledger

PATH = Path(__file__).with_name("rubric.toml")


class RubricError(Exception):
    """The rubric cannot be used; the message is one line with file, line and remedy."""


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Check(_Strict):
    """One row of the rubric. ``id`` is ``criterion.name``."""

    id: str
    criterion: str
    title: str
    points: int = Field(ge=0)
    visibility: Literal["visible", "after_due_date", "hidden"] = "visible"


class Criterion(_Strict):
    """A group of checks; the points of a bonus criterion do not count towards the total."""

    id: str
    title: str
    task: str
    bonus: bool = False
    checks: tuple[Check, ...]

    @property
    def points(self) -> int:
        return sum(check.points for check in self.checks)


class Rubric(_Strict):
    """All criteria, in the order in which they are run and shown."""

    total: int
    criteria: tuple[Criterion, ...]
    version: str

    @property
    def checks(self) -> tuple[Check, ...]:
        return tuple(check for criterion in self.criteria for check in criterion.checks)


def load(path: Path = PATH, assignment: Assignment = ASSIGNMENT) -> Rubric:
    """The rubric in ``path``, with the course's figures in its titles. Raises RubricError."""
    text = path.read_text("utf-8")
    try:
        raw = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise RubricError(f"{path}: {error}; mend the TOML there") from None
    figures = assignment.course.arguments() | {"total": ledger.total(assignment.course)}
    try:
        criteria = tuple(_criterion(entry, figures) for entry in raw.get("criterion", []))
        rubric = Rubric(
            total=raw.get("total", -1), criteria=criteria, version=hashlib.sha256(text.encode()).hexdigest()[:12]
        )
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(map(str, first["loc"]))
        raise RubricError(f"{path}:{_line(text, str(first['loc'][-1]))}: {where}: {first['msg']}") from None
    except (KeyError, AttributeError, TypeError, ValueError) as error:
        raise RubricError(
            f"{path}: an entry is not as it should be ({error}); compare it with its neighbours"
        ) from None
    _consistent(rubric, path, text)
    return rubric


def _criterion(entry: dict[str, Any], figures: dict[str, int]) -> Criterion:
    checks = []
    for row in entry.pop("check", []):
        identity = f"{entry['id']}.{row.pop('id')}"
        title = str(row.pop("title")).format(**figures)
        checks.append(Check(id=identity, criterion=entry["id"], title=title, **row))
    return Criterion(checks=tuple(checks), **entry)


def _consistent(rubric: Rubric, path: Path, text: str) -> None:
    seen: set[str] = set()
    for identity in [*(c.id for c in rubric.criteria), *(c.id for c in rubric.checks)]:
        if identity in seen:
            raise RubricError(f"{path}:{_line(text, identity.split('.')[-1])}: {identity} is there twice; remove one")
        seen.add(identity)
    points = sum(criterion.points for criterion in rubric.criteria if not criterion.bonus)
    if points != rubric.total:
        line = _line(text, "total")
        raise RubricError(f"{path}:{line}: total is {rubric.total}, but the points sum to {points}; change one of them")


def _line(text: str, word: str) -> int:
    """The first line that mentions ``word`` as a key or a quoted value, or the first line of all."""
    for number, line in enumerate(text.splitlines(), 1):
        if line.startswith(f"{word} ") or f'"{word}"' in line:
            return number
    return 1
