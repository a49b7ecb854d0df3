"""Load the rubric: all checks with order, points and title. No points are set in code.

``rubric.toml`` is validated completely; an error in it is reported with file, line and remedy.
"""

from __future__ import annotations

import hashlib
import re
import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from autograder.core.assignment import Assignment, Contract
from autograder.core.errors import BadInput
from autograder.grading.report import Visibility

CHECK_HEADER = "[[criterion.check]]"


class RubricError(BadInput):
    """The rubric cannot be used; the message is one line with file, line and remedy."""


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)


class Check(_Strict):
    """One row of the rubric. ``id`` is ``criterion.name``; ``formerly`` is the name it had in the last release."""

    id: str
    criterion: str
    title: str
    points: int = Field(ge=0)
    visibility: Visibility = "visible"
    formerly: str = ""


class Criterion(_Strict):
    """A group of checks; the points of a bonus criterion do not count towards the total.

    Its ``visibility`` is the default for its checks.
    """

    id: str
    title: str
    task: str
    bonus: bool = False
    also: tuple[str, ...] = Field(default=(), strict=False)  # other names for --only
    late_hints: bool = False  # whether causes are named only after a second attempt without progress
    visibility: Visibility = "visible"
    checks: tuple[Check, ...]

    @property
    def points(self) -> int:
        return sum(check.points for check in self.checks)


@dataclass(frozen=True, slots=True)
class Selection:
    """The part of an assignment to grade: criteria, and definitions whose checks belong to other criteria."""

    criteria: frozenset[str]
    definitions: frozenset[str]


class Rubric(_Strict):
    """All criteria, in the order in which they are run and shown."""

    total: int
    criteria: tuple[Criterion, ...]
    version: str
    carry_forward: bool = True  # a definition that does not run costs points only in the checks that are about it

    @property
    def checks(self) -> tuple[Check, ...]:
        return tuple(check for criterion in self.criteria for check in criterion.checks)

    @property
    def renamed(self) -> dict[str, str]:
        """Map the ids that checks had in the last release to their current ids."""
        return {f"{check.criterion}.{check.formerly}": check.id for check in self.checks if check.formerly}


def select(rubric: Rubric, contract: Contract, part: str) -> Selection:
    """Return the part that a student calls ``part``: a criterion, class, function or task. Raises BadInput."""
    wanted = _normalise(part)

    def is_task(task: str) -> bool:
        return f"{_normalise(task)}.".startswith(f"{wanted}.")

    by_task = {criterion.id for criterion in rubric.criteria if is_task(criterion.task)}
    names = {
        criterion.id: map(_normalise, (criterion.id, criterion.title, *criterion.also)) for criterion in rubric.criteria
    }
    criteria = by_task | {id for id, known in names.items() if wanted in known}
    definitions = {one.name for one in contract.definitions if not by_task and is_task(one.task)}
    definitions |= {one.name for one in contract.definitions if not criteria and _normalise(one.name) == wanted}
    if not wanted or not criteria | definitions:
        listed = ", ".join(criterion.id for criterion in rubric.criteria)
        raise BadInput(
            f"--only {part}: no such part; choose from {listed}, or give a class, function or task such as 5.1"
        )
    return Selection(frozenset(criteria), frozenset(definitions))


def _normalise(name: str) -> str:
    """Return a name without its kind, case and punctuation: "task 5.4 (1)" becomes "5.4.1"."""
    words = re.sub(r"^(task|tasks|exercise|exercises|on)\b", "", name.strip().lower())
    return ".".join(re.findall(r"[a-z0-9_]+", words))


def load(assignment: Assignment, path: Path | None = None) -> Rubric:
    """Return the assignment's rubric, or the one in ``path``, with figures filled into titles. Raises RubricError."""
    path = path or assignment.rubric
    try:
        text = path.read_text("utf-8")
        raw = tomllib.loads(text)
    except OSError as error:
        raise RubricError(f"{path}: {error.strerror}; restore the rubric") from None
    except UnicodeDecodeError:
        raise RubricError(f"{path}: not UTF-8 text; save it as UTF-8") from None
    except tomllib.TOMLDecodeError as error:
        place = re.search(r"at line (\d+)", str(error))
        line = int(place[1]) if place else len(text.splitlines())
        raise RubricError(f"{path}:{line}: {error}; fix the TOML there") from None
    # The TOML parser drops line numbers but keeps the order of entries.
    lines = text.splitlines()
    starts = {
        kind: [n for n, line in enumerate(lines, 1) if line.strip() == kind] for kind in ("[[criterion]]", CHECK_HEADER)
    }
    figures = dict(assignment.figures)
    known = {"total", "carry_forward", "criterion"}
    stray = next((n for n, line in enumerate(lines, 1) for key in set(raw) - known if key in line), 0)
    if set(raw) - known:
        raise RubricError(
            f"{path}:{stray}: {', '.join(set(raw) - known)}: unknown key; use total, carry_forward and [[criterion]]"
        )
    rows, criteria, seen = iter(starts[CHECK_HEADER]), [], set()
    for start, entry in zip(starts["[[criterion]]"], raw.get("criterion", []), strict=False):
        checks = []
        criterion = str(entry.get("id", ""))
        if criterion in seen:
            raise RubricError(f"{path}:{start}: {criterion} appears twice; remove one")
        seen.add(criterion)
        rows_of_it = entry.pop("check", [])
        group = _parse_entry(Criterion, f"{path}:{start}", entry | {"checks": ()}, figures)
        for row in rows_of_it:
            place_of_row = f"{path}:{next(rows)}"
            checks.append(_parse_entry(Check, place_of_row, {"visibility": group.visibility} | row, figures, criterion))
            if checks[-1].id in seen:
                raise RubricError(f"{place_of_row}: {checks[-1].id} appears twice; remove one")
            seen.add(checks[-1].id)
        criteria.append(group.model_copy(update={"checks": tuple(checks)}))
    line = next((n for n, words in enumerate(lines, 1) if words.startswith("total")), 1)
    points = sum(criterion.points for criterion in criteria if not criterion.bonus)
    if raw.get("total") != points:
        raise RubricError(f"{path}:{line}: total is {raw.get('total')}, but the points sum to {points}; change one")
    carry_forward = raw.get("carry_forward", True)
    if not isinstance(carry_forward, bool):
        line = next((n for n, words in enumerate(lines, 1) if "carry_forward" in words), 1)
        raise RubricError(f"{path}:{line}: carry_forward is {carry_forward!r}; write true or false")
    version = hashlib.sha256(text.encode()).hexdigest()[:12]
    return Rubric(total=points, criteria=tuple(criteria), version=version, carry_forward=carry_forward)


Entry = TypeVar("Entry", Check, Criterion)


def _parse_entry(
    kind: type[Entry], place: str, row: dict[str, Any], figures: dict[str, int], criterion: str | None = None
) -> Entry:
    """Validate one entry. Raises RubricError with the entry's line and the error."""
    try:
        title = str(row["title"]).format(**figures)
        own = {"id": f"{criterion}.{row['id']}", "criterion": criterion} if criterion is not None else {"id": row["id"]}
        return kind.model_validate(row | own | {"title": title})
    except ValidationError as error:
        first = error.errors()[0]
        raise RubricError(f"{place}: {'.'.join(map(str, first['loc']))}: {first['msg']}") from None
    except (KeyError, IndexError, ValueError) as error:
        reason = f"{error} is missing, or titles cannot use it" if isinstance(error, KeyError) else str(error)
        raise RubricError(f"{place}: {reason}; compare the entry with its neighbours") from None
