"""Assign an MLP's tensors to the up-projection and the down-projection."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

from autograder.assignment.oracle.layouts.entries import (
    CHUNKS,
    Layout,
    Shapes,
    Source,
    Stacks,
    axis_orders,
    axis_sizes,
    cut_stacks,
    is_matrix_stack,
    stack_tensors,
)

ORDERS = ("md", "dm")
ORDERS_IN_PARTS = ("cnd", "dcn", "cdn", "ndc", "ncd", "dnc")  # if the inner width has axes c and n
MAX_VECTORS = 2  # a bias of each projection


def mlp_matrices(shapes: Shapes, d: int) -> Stacks:
    """Return the stacks that are matrices; a bias stored in parts is none."""
    return _select_matrices(stack_tensors(shapes), d)


def _select_matrices(stacks: Stacks, d: int) -> Stacks:
    return {
        name: stack for name, stack in stacks.items() if is_matrix_stack(stack, d) and stack.size > (CHUNKS + 1) * d
    }


def mlp_layouts(shapes: Shapes, d: int) -> Iterator[Layout]:
    """Yield layouts of an MLP's tensors as up (d, m), down (m, d) and their biases, for any inner width m."""
    stacks = stack_tensors(shapes)
    for held in itertools.chain([stacks], cut_stacks(stacks, "mlp", axis_sizes({"d": d}))):
        yield from _layouts_of_stacks(held, d)


def _layouts_of_stacks(stacks: Stacks, d: int) -> Iterator[Layout]:
    matrices = _select_matrices(stacks, d)
    vectors = [
        (Source((name,), "", part, parts), stack.size // parts)
        for name, stack in stacks.items()
        if name not in matrices
        for parts in [1 if stack.size == len(stack) * d == CHUNKS * d else len(stack)]  # one bias in parts
        for part in range(parts)
    ]
    if len(matrices) not in (1, 2) or len(vectors) > MAX_VECTORS:
        return
    parts = 2 // len(matrices)  # one stack has both projections, or each has its own
    widths = {stack.size // (parts * d) for stack in matrices.values()}
    if len(widths) > 1 or (parts == 2 and widths != {4 * d}):
        return
    width = widths.pop()
    lengths = axis_sizes({"d": d}) | {"m": width, "n": width // CHUNKS}
    options = [
        list(axis_orders(stack, ORDERS, parts, lengths)) or list(axis_orders(stack, ORDERS_IN_PARTS, parts, lengths))
        for stack in matrices.values()
    ]
    for chosen in itertools.product(*options):
        slots = [
            [Source((name,), axes, part, parts) for axes in orders]
            for name, orders in zip(matrices, chosen, strict=True)
            for part in range(parts)
        ]
        for first, second in itertools.permutations(slots):
            for up, down in itertools.product(first, reversed(second)):
                yield from _add_biases({"up": up, "down": down}, vectors, {"up": lengths["m"], "down": d})


def _add_biases(layout: Layout, vectors: list[tuple[Source, int]], widths: dict[str, int]) -> Iterator[Layout]:
    """Yield the layout with the vectors as the biases that their sizes allow."""
    for order in itertools.permutations(vectors):
        for roles in itertools.combinations(widths, len(order)):
            if all(size == widths[role] for (_, size), role in zip(order, roles, strict=True)):
                biases = {
                    f"{role}.bias": Source(bias.tensors, "rm" if role == "up" else "rd", bias.part, bias.parts)
                    for (bias, _), role in zip(order, roles, strict=True)
                }
                yield {**layout, **biases}
