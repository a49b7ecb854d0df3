"""Assign an attention's tensors to q, k, v and o with the axes of each in any order."""

from __future__ import annotations

import itertools
import operator
from collections.abc import Iterator

import numpy as np

from autograder.assignment.oracle.layouts.attention import (
    ROLES,
    add_biases,
    projection_layouts,
    split_off_projection,
)
from autograder.assignment.oracle.layouts.entries import Layout, Shapes, drop_unit_axes, number_entries
from autograder.sandbox.remote.replies import is_matrix

MAX_PARTS = 8  # tensors per head: twice the number of roles


def reordered_attention_layouts(shapes: Shapes, d: int, H: int) -> Iterator[Layout]:
    """Yield layouts in which each role orders its axes (head, d, d_head) in its own way.

    A tensor holds one, two or all roles for all heads, or is one of a run of tensors, one per head.
    """
    tensors = number_entries(shapes)
    matrices = [(name, drop_unit_axes(value)) for name, value in tensors if is_matrix(value.shape)]
    vectors = [value.reshape(-1) for _, value in tensors if not is_matrix(value.shape)]
    if H < 1 or d % H or len(matrices) > MAX_PARTS * H or not (len(vectors) <= 1 or sum(map(len, vectors)) == 4 * d):
        return
    for inner, out in split_off_projection(matrices, d, H):
        stacked = [np.stack([value for _, value in out])] if len(out) > 1 else [value for _, value in out]
        projections = [o[0].transpose(0, 2, 1) for value in stacked for o in _axis_orders(value, 1, d, H)]
        if H > 1:  # the heads may be merged in reverse order
            projections += [o[::-1] for o in projections]
        for parts in _stack_heads([value for _, value in inner], d, H):
            for chosen in itertools.product(*(list(_axis_orders(value, count, d, H)) for value, count in parts)):
                for qkv in itertools.permutations(np.concatenate(chosen)):
                    for o in projections if out else projection_layouts([], d, H):
                        yield from add_biases(dict(zip(ROLES, qkv, strict=True)) | {"o": o}, vectors, d, H)


def _stack_heads(values: list[np.ndarray], d: int, H: int) -> Iterator[list[tuple[np.ndarray, int]]]:
    """Yield the tensors, each with its number of roles; stack those of single heads, in runs or in turns."""
    whole = [(value, value.size // (d * d)) for value in values if value.size % (d * d) == 0]
    heads = [value for value in values if value.size % (d * d)]
    if not heads:
        if sum(count for _, count in whole) == len(ROLES):
            yield whole
        return
    if H == 1 or len(heads) % H or any(value.size % (d * d // H) for value in heads):
        return
    sets = len(heads) // H
    runs = [heads[i * H : (i + 1) * H] for i in range(sets)]
    turns = [heads[i::sets] for i in range(sets)]
    for parts in [runs, turns] if sets > 1 else [runs]:
        if any(value.shape != part[0].shape for part in parts for value in part):
            continue
        stacked = [(np.stack(part), H * part[0].size // (d * d)) for part in parts]
        if sum(count for _, count in (*whole, *stacked)) == len(ROLES):
            yield [*whole, *stacked]


def _axis_orders(value: np.ndarray, count: int, d: int, H: int) -> Iterator[np.ndarray]:
    """Yield layouts of a tensor as ``count`` roles (count, H, d, d_head): d is an axis, the others in any order."""
    sizes = {"r": count, "h": H, "k": d // H}
    if value.size != count * d * d:
        return
    for axis in (axis for axis, size in enumerate(value.shape) if size == d):
        rest = np.moveaxis(value, axis, -1)
        bounds = {1, *itertools.accumulate(rest.shape[:-1], operator.mul)}
        seen = set()
        for order in itertools.permutations("rhk"):
            lengths = tuple(sizes[letter] for letter in order)
            longer = tuple(letter for letter in order if sizes[letter] > 1)  # an axis of size 1 fits anywhere
            if longer in seen or not bounds <= {1, *itertools.accumulate(lengths, operator.mul)}:
                continue
            seen.add(longer)
            yield rest.reshape(*lengths, d).transpose(*(order.index(letter) for letter in "rh"), 3, order.index("k"))
