"""Assign an MLP's tensors to the up-projection and the down-projection."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

from autograder.assignment.oracle.layouts.entries import Layout, Shapes, drop_unit_axes, number_entries, split_fused
from autograder.sandbox.remote.replies import is_matrix


def mlp_layouts(shapes: Shapes, d: int) -> Iterator[Layout]:
    """Yield layouts of an MLP's tensors as up (d, h), down (h, d) and their biases, for any inner width h."""
    tensors = number_entries(shapes)
    matrices = [(name, drop_unit_axes(value)) for name, value in tensors if is_matrix(value.shape)]
    vectors = [value.reshape(-1) for _, value in tensors if not is_matrix(value.shape)]
    if len(vectors) > 2:
        return
    separate = [value for _, value in matrices] if len(matrices) == 2 else []
    pairs = [separate] if separate else list(split_fused(matrices, 2, 4 * d * d))
    for first, second in itertools.chain.from_iterable(map(itertools.permutations, pairs)):
        if first.ndim != 2 or second.ndim != 2:
            continue
        for up in (first.T, first):
            for down in (second.T, second):
                if up.shape[0] != d or down.shape != up.shape[::-1]:
                    continue
                layout = {"up": up, "down": down}
                biases = [("up.bias", up.shape[1]), ("down.bias", d)]
                for order in itertools.permutations(vectors):
                    for roles in itertools.combinations(biases, len(order)):
                        if all(len(v) == size for v, (_, size) in zip(order, roles, strict=True)):
                            yield layout | {name: v for v, (name, _) in zip(order, roles, strict=True)}
