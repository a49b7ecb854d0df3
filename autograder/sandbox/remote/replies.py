"""Parse the replies of a student's process, which are only claims.

Parsers raise AttributeError, IndexError, KeyError, OverflowError, TypeError or ValueError for an invalid reply.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeVar

import numpy as np

from autograder.core.text import clean
from autograder.sandbox.remote.client import RemoteException, parse_exception
from autograder.sandbox.remote.wire import MAX_RANK, Opaque

Answer = TypeVar("Answer")
Location = tuple[str, int, tuple[str, ...]]  # location of a definition: file or cell, line, functions that are stubs
MAX_PLACE, MAX_QUOTE = 40, 80  # characters of a cell's name, and of a quoted line
MAX_COUNT = 1 << 31  # largest count, such as a tensor's entries: more than a process can hold, yet safe to multiply
MAX_LINE = 10**7
MAX_VECTOR = 1000  # entries of a gain or a bias
MAX_NUMBER = 1e15  # largest number; up to this, float64 represents every integer


def is_matrix(shape: Sequence[int]) -> bool:
    """Return whether a tensor of that shape is a matrix: (1, 1, d) is not, the (1, d) of an nn.Linear is."""
    return len(shape) == 2 or sum(size > 1 for size in shape) > 1


class Parameter(NamedTuple):
    """A parameter as the student's module lists it: a claim until outputs are seen to depend on it."""

    name: str
    shape: tuple[int, ...]
    grad: bool
    owner: str = ""  # the class whose stub owns it
    mask: bool = False  # whether it looks like a causal mask

    @property
    def size(self) -> int:
        return math.prod(self.shape)

    @property
    def is_matrix(self) -> bool:
        """Return whether the parameter is a matrix; a long vector is one or several, stored flat."""
        return is_matrix(self.shape) or self.size > MAX_VECTOR

    @property
    def fan_in(self) -> float:
        """Return the length of the last axis; if it holds whole matrices, that of one with a fourth of all entries."""
        is_flat = self.size > MAX_VECTOR and self.shape[-1] ** 2 > 4 * self.size
        return (self.size / 4) ** 0.5 if is_flat else self.shape[-1]

    def with_owner(self, owner: str) -> Parameter:
        """Return the same parameter, owned by the stub ``owner``."""
        return self._replace(owner=owner)


@dataclass(frozen=True, slots=True)
class SkippedStatements:
    """The statements of a notebook that were not executed: their number, and where the first is."""

    count: int
    place: str
    line: int
    text: str


def parse_build(answer: Any) -> tuple[tuple[Parameter, ...], frozenset[str], bool]:
    """Parse a built object: its parameters, the names of its methods, whether it is an nn.Module."""
    listed = answer["parameters"]
    frozen, masks, owners = set(listed["frozen"]), set(listed["masks"]), dict(listed["owners"])
    parameters = tuple(
        Parameter(str(name), parse_shape(sizes), name not in frozen, str(owners.get(name, "")), name in masks)
        for name, sizes in zip(listed["names"], listed["shapes"], strict=True)
    )
    if len({p.name for p in parameters}) < len(parameters):
        raise ValueError("two parameters of one name")
    # Checks never see empty parameters, which have nothing to count, set or learn.
    kept = tuple(p for p in parameters if p.size)
    return kept, frozenset(map(str, answer["methods"])), bool(answer["module"])


def parse_load(
    answer: Any,
) -> tuple[dict[str, Location], list[tuple[tuple[str, ...], RemoteException]], SkippedStatements | None]:
    """Parse an imported file: its definitions, the statements that raised (with their names), and those left out."""
    defined = {
        str(name): (clean(str(place), MAX_PLACE), parse_line_number(line), tuple(map(str, stubs)))
        for name, (place, line, stubs) in answer["defined"].items()
    }
    troubles = [(tuple(map(str, t["names"])), parse_exception(t["raised"])) for t in answer["troubles"]]
    count, first = answer["left_out"]
    left = [
        SkippedStatements(
            parse_count(count), clean(str(p), MAX_PLACE), parse_line_number(line), clean(str(t), MAX_QUOTE)
        )
        for p, line, t in first
    ]
    return defined, troubles, left[0] if left else None


def has_odd_value(answer: Any) -> bool:
    """Return whether a reply contains an empty array, an opaque value, NaN, or a number above MAX_NUMBER."""
    if isinstance(answer, np.ndarray):
        return not (answer.size and -MAX_NUMBER <= answer.min() <= answer.max() <= MAX_NUMBER)
    if isinstance(answer, (int, float)):
        return not abs(answer) <= MAX_NUMBER
    if isinstance(answer, dict):
        return any(map(has_odd_value, answer)) or any(map(has_odd_value, answer.values()))
    return any(map(has_odd_value, answer)) if isinstance(answer, (list, tuple)) else isinstance(answer, Opaque)


def parse_count(value: Any) -> int:
    """Read a count: a whole number from 0 to MAX_COUNT, neither a bool nor an array."""
    if type(value) is not int or not 0 <= value <= MAX_COUNT:
        raise ValueError("not a count")
    return value


def parse_line_number(value: Any) -> int:
    """Read the number of a line; 0 if no file has so many lines."""
    return value if type(value) is int and 0 <= value <= MAX_LINE else 0


def parse_shape(answer: Any) -> tuple[int, ...]:
    """Read the shape of a tensor that may be empty, with no more axes and entries than checks can handle."""
    sizes = tuple(map(parse_count, answer))
    if len(sizes) > MAX_RANK or math.prod(size or 1 for size in sizes) > MAX_COUNT:
        raise ValueError("not a shape")
    return sizes


def parse_real(value: Any) -> float:
    """Read a number, neither a bool nor an array; it may be infinite or NaN."""
    if type(value) not in (int, float):
        raise TypeError("not a number")
    return float(value)


def parse_counts(answer: Any) -> dict[str, int]:
    """Parse a count for each name."""
    return {str(name): parse_count(count) for name, count in answer.items()}


def parse_constructor_calls(answer: Any) -> dict[str, list[dict[str, int]]]:
    """Parse the whole numbers that constructors got, by the name or position of the argument."""
    return {
        str(name): [{str(key): int(value) for key, value in call.items()} for call in calls]
        for name, calls in answer.items()
    }


def parse_trace(answer: Any) -> dict[str, Any]:
    """Parse a model's output and the output shapes of its parts."""
    return {"output": answer["output"], "parts": [parse_shape(sizes) for sizes in answer["parts"]]}
