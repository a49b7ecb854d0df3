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
    cut_stacks,
    split_axes,
    stack_tensors,
)
from autograder.assignment.oracle.layouts.norm import norm_layouts

MAX_TABLES = 4  # matrices with a table's shape: more than any model has, few enough to try all pairs


def model_layouts(shapes: Shapes, V: int, T_max: int, d: int) -> Iterator[tuple[Layout, Mistake | None]]:
    """Yield layouts of GPT's own tensors as tok, pos, head and final norm, each with the mistake that it implies."""
    stacks = stack_tensors(shapes)
    lengths = axis_sizes({"d": d, "V": V, "T_max": T_max})
    for held in itertools.chain([stacks], cut_stacks(stacks, "model", lengths)):
        yield from _layouts_of_stacks(held, lengths)


def _layouts_of_stacks(stacks: Stacks, lengths: dict[str, int]) -> Iterator[tuple[Layout, Mistake | None]]:
    d, V = lengths["d"], lengths["v"]
    tables = [*_find_tables(stacks, "v", lengths)]
    positions = [*_find_tables(stacks, "t", lengths), *_find_tables(stacks, "u", lengths)] or [Source(part=ZERO)]
    if len(tables) > MAX_TABLES or len(positions) > MAX_TABLES:
        return
    vectors = {name: stack for name, stack in stacks.items() if stack[0].size <= 4 * d}
    biases = [Source((name,), "rv", 0, len(stack)) for name, stack in vectors.items() if stack[0].size == V]
    bias = {"head.bias": biases[0]} if biases else {}
    rest = {name: stack for name, stack in vectors.items() if stack[0].size != V}
    for tok, head in [*itertools.permutations(tables, 2), *((t, t) for t in tables if len(tables) == 1)]:
        for pos in positions:
            for norm, implied in norm_layouts(rest, d, ["ln_f"]):
                yield {"tok": tok, "pos": pos, "head": head, **norm, **bias}, implied


def _find_tables(stacks: Stacks, letter: str, lengths: dict[str, int]) -> Iterator[Source]:
    """Yield the tensors, or parts of one, whose axes are ``letter`` and d, in either order."""
    for name, stack in stacks.items():
        parts, rest = divmod(stack.size, lengths[letter] * lengths["d"])
        if rest or not 1 <= parts <= MAX_TABLES:
            continue
        orders = (f"{letter}d", f"d{letter}")
        for axes in (f"{order[:at]}r{order[at:]}" for at in range(3 if parts > 1 else 1) for order in orders):
            if split_axes(stack, axes, {**lengths, "r": parts}) is not None:
                yield from (Source((name,), axes, part, parts) for part in range(parts))
                if stack.shape[-1] in (lengths[letter], lengths["d"], parts):  # not flat, so in one order
                    break
