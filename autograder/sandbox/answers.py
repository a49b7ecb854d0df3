"""What a student's process answers, read as what was asked for: claims.

A reader raises AttributeError, IndexError, KeyError, OverflowError, TypeError or ValueError where it is no such answer.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeVar

from autograder.sandbox.process import Remote, described
from autograder.sandbox.wire import MAX_RANK, clean

Answer = TypeVar("Answer")
Place = tuple[str, int, tuple[str, ...]]  # of a definition: file or cell, line, functions that are stubs
PLACE, QUOTED = 40, 80  # characters of what a cell is called, and of a line that is quoted
MOST = 1 << 62  # entries of one parameter that can be counted


def is_matrix(shape: Sequence[int]) -> bool:
    """Whether a tensor of that shape is more than a vector; (1, 1, d) is none, the (1, d) of an nn.Linear is one."""
    return len(shape) == 2 or sum(size > 1 for size in shape) > 1


class Parameter(NamedTuple):
    """A parameter as the student's module lists it: a claim until outputs are seen to follow it."""

    name: str
    shape: tuple[int, ...]
    grad: bool
    owner: str = ""  # the class standing in for its part
    mask: bool = False  # whether it looks like one

    @property
    def size(self) -> int:
        return math.prod(self.shape)

    @property
    def is_matrix(self) -> bool:
        """Whether it is more than a vector."""
        return is_matrix(self.shape)

    def held_by(self, owner: str) -> Parameter:
        """The same, inside the part that ``owner`` stands in for."""
        return self._replace(owner=owner)


@dataclass(frozen=True, slots=True)
class LeftOut:
    """What of a notebook was not executed: how many statements, and where the first is."""

    count: int
    place: str
    line: int
    text: str


def claimed(answer: Any) -> tuple[tuple[Parameter, ...], frozenset[str], bool]:
    """An object that was built: its parameters, the names of its methods, whether it is an nn.Module."""
    listed = answer["parameters"]
    frozen, masks, owners = set(listed["frozen"]), set(listed["masks"]), dict(listed["owners"])
    parameters = tuple(
        Parameter(str(name), tuple(numbers(shape, int)), name not in frozen, str(owners.get(name, "")), name in masks)
        for name, shape in zip(listed["names"], listed["shapes"], strict=True)
    )
    if any(len(p.shape) > MAX_RANK or min(p.shape, default=0) < 0 or p.size > MOST for p in parameters):
        raise ValueError("not a shape")
    return parameters, frozenset(map(str, answer["methods"])), bool(answer["module"])


def loaded(
    answer: Any,
) -> tuple[dict[str, Place], list[tuple[tuple[str, ...], Remote]], LeftOut | None]:
    """A file that was executed: what it defines, what did not go through (and defines what), what was left out."""
    defined = {
        str(name): (clean(str(place), PLACE), int(line), tuple(map(str, stubs)))
        for name, (place, line, stubs) in answer["defined"].items()
    }
    troubles = [(tuple(map(str, t["names"])), described(t["raised"])) for t in answer["troubles"]]
    count, first = answer["left_out"]
    left = [LeftOut(int(count), clean(str(p), PLACE), int(line), clean(str(t), QUOTED)) for p, line, t in first]
    return defined, troubles, left[0] if left else None


def numbers(answer: Any, kind: Callable[[Any], Answer]) -> list[Answer]:
    """Numbers of one kind."""
    return [kind(value) for value in answer]


def counts(answer: Any) -> dict[str, int]:
    """How often each of some names."""
    return dict(zip(map(str, answer), numbers(answer.values(), int), strict=True))


def traced(answer: Any) -> dict[str, Any]:
    """What a model returned, and the shapes that came out of its blocks."""
    return {"output": answer["output"], "blocks": [tuple(numbers(shape, int)) for shape in answer["blocks"]]}
