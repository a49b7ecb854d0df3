"""Assign GPT's own tensors to the embeddings, the unembedding and the final norm."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

from autograder.assignment.mistakes import Mistake
from autograder.assignment.oracle.layouts.entries import (
    ZERO,
    Layout,
    Shapes,
    Source,
    Stacks,
    axis_sizes,
    split_axes,
    stack_tensors,
)
from autograder.assignment.oracle.layouts.norm import norm_layouts

MAX_TABLES = 4  # matrices with a table's shape: more than any model has, few enough to try all pairs


def model_layouts(shapes: Shapes, V: int, T_max: int, d: int) -> Iterator[tuple[Layout, Mistake | None]]:
    """Yield layouts of GPT's own tensors as tok, pos, head and final norm, each with the mistake that it implies."""
    stacks = stack_tensors(shapes)
    lengths = axis_sizes({"d": d, "V": V, "T_max": T_max})

    def find(*letters: str) -> list[Source]:
        return [table for letter in letters for table in _find_tables(stacks, letter, lengths)]

    tables, positions = find("v"), find("t", "u")
    joint = len(find("j")) == 1  # one table holds tokens and positions, in either order
    vectors = {name: stack for name, stack in stacks.items() if stack[0].size <= 4 * d}
    biases = [Source((name,), "rv", 0, len(stack)) for name, stack in vectors.items() if stack[0].size == V]
    bias = {"head.bias": biases[0]} if biases else {}
    rest = {name: stack for name, stack in vectors.items() if stack[0].size != V}
    for first, last in (("j", "J"), ("J", "j")) if joint else (("", ""),):
        tokens = find(first) + tables if joint else tables
        place = find(last) + positions if joint else positions or [Source(part=ZERO)]
        if len(tokens) > MAX_TABLES or len(place) > MAX_TABLES:
            continue
        for tok, head in [*itertools.permutations(tokens, 2), *((t, t) for t in tokens if len(tokens) == 1)]:
            for pos in place:
                for norm, implied in norm_layouts(rest, d, ["ln_f"]):
                    yield {"tok": tok, "pos": pos, "head": head, **norm, **bias}, implied


def _find_tables(stacks: Stacks, letter: str, lengths: dict[str, int]) -> Iterator[Source]:
    """Yield the tensors whose axes are ``letter`` and d, in either order."""
    for name, stack in stacks.items():
        parts = len(stack)
        for axes in (f"r{letter}d", f"rd{letter}"):
            if split_axes(stack, axes, {**lengths, "r": parts}) is not None:
                yield from (Source((name,), axes, part, parts) for part in range(parts))
                break
