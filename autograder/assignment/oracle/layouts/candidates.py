"""Yield a component's layouts by number, and find the same one at other sizes."""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Iterator, Mapping

import numpy as np

from autograder.assignment.oracle.layouts.attention import attention_layouts
from autograder.assignment.oracle.layouts.attention_axes import reordered_attention_layouts
from autograder.assignment.oracle.layouts.entries import Layout, Shapes, number_entries
from autograder.assignment.oracle.layouts.mlp import mlp_layouts
from autograder.assignment.oracle.layouts.model import model_layouts
from autograder.assignment.oracle.layouts.norm import norm_layouts

MAX_TRIED = 2000  # layouts searched for the same one at other sizes


def candidate_layouts(component: str, shapes: Shapes, sizes: Mapping[str, int]) -> Iterator[Layout]:
    """Yield all layouts of a component's tensors, numbered as in the oracle's answers, the common ones first."""
    yield from common_layouts(component, shapes, sizes)
    if component == "attention":
        yield from reordered_attention_layouts(shapes, sizes["d"], sizes["H"])


def common_layouts(component: str, shapes: Shapes, sizes: Mapping[str, int]) -> Iterator[Layout]:
    """Yield the layouts that most submissions have; stop at shapes that don't fit."""
    d = sizes["d"]
    try:
        if component == "attention":
            yield from attention_layouts(shapes, d, sizes["H"])
        elif component == "mlp":
            yield from mlp_layouts(shapes, d)
        elif component == "block":
            yield from (layout for layout, _ in norm_layouts(number_entries(shapes), d, ["ln1", "ln2"]))
        else:
            yield from (layout for layout, _ in model_layouts(shapes, sizes["V"], sizes["T_max"], d))
    except ValueError:
        return  # an unknown layout is not an error


def same_layout(
    component: str, known: Shapes, known_sizes: Mapping[str, int], number: int, shapes: Shapes, sizes: Mapping[str, int]
) -> Layout | None:
    """Find, at other ``sizes``, the layout that matches layout ``number`` of ``known``, if any.

    ``known`` and ``shapes`` are the tensors of one class, built twice. Numbers do not carry over, since equal sizes
    add layouts: the result has the same rank among those that take each role from the same tensors.
    """
    exact = [name for name, _ in known] == [name for name, _ in shapes]
    seen = [
        _tensors_by_role(layout, known, exact)
        for layout in itertools.islice(candidate_layouts(component, known, known_sizes), number + 1)
    ]
    if len(seen) <= number:
        return None
    rank = seen.count(seen[number]) - 1
    candidates = itertools.islice(candidate_layouts(component, shapes, sizes), MAX_TRIED)
    same = (layout for layout in candidates if _tensors_by_role(layout, shapes, exact) == seen[number])
    return next(itertools.islice(same, rank, None), None)


def _tensors_by_role(layout: Layout, shapes: Shapes, exact: bool) -> dict[str, tuple[str, ...]]:
    """List each role's tensors by name; unless ``exact``, without the numbers in the names, which depend on H."""
    names = [name if exact else re.sub("[0-9]+", "*", name) for name, _ in shapes]
    ends = np.cumsum([math.prod(shape) for _, shape in shapes])
    found = {}
    for role, entries in layout.items():
        indices = np.unique(np.searchsorted(ends, entries[entries >= 0], side="right"))
        found[role] = tuple(dict.fromkeys(names[i] for i in indices))
    return found
