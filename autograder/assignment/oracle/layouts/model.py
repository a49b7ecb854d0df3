"""Assign GPT's own tensors to the embeddings, the unembedding and the final norm."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

import numpy as np

from autograder.assignment.mistakes import Mistake
from autograder.assignment.oracle.layouts.entries import ZERO, Layout, Shapes, drop_unit_axes, number_entries
from autograder.assignment.oracle.layouts.norm import norm_layouts

MAX_TABLES = 4  # matrices with a table's shape: more than any model has, few enough to try all pairs


def model_layouts(shapes: Shapes, V: int, T_max: int, d: int) -> Iterator[tuple[Layout, Mistake | None]]:
    """Yield layouts of GPT's own tensors as tok, pos, head and final norm, each with the mistake that it implies."""
    tensors = number_entries(shapes)
    matrices = [drop_unit_axes(value) for _, value in tensors if drop_unit_axes(value).ndim == 2]
    vectors = [(name, value) for name, value in tensors if value.size <= 4 * d]
    for separate in _split_joint_table(matrices, V, T_max, d):
        tables = [m if m.shape == (V, d) else m.T for m in separate if m.shape in ((V, d), (d, V))]
        position_shapes = [shape for size in (T_max, T_max + 1) for shape in ((size, d), (d, size))]
        position_tables = [m if m.shape[1] == d else m.T for m in separate if m.shape in position_shapes]
        if len(tables) > MAX_TABLES or len(position_tables) > MAX_TABLES:
            continue
        position_tables = position_tables or [np.full((T_max, d), ZERO)]
        bias = next(({"head.bias": value.reshape(-1)} for _, value in vectors if value.size == V), {})
        for tok, head in [*itertools.permutations(tables, 2), *((t, t) for t in tables[:1] if len(tables) == 1)]:
            for pos in position_tables:
                for norm, implied in norm_layouts([v for v in vectors if v[1].size != V], d, ["ln_f"]):
                    yield {"tok": tok, "pos": pos, "head": head.T} | norm | bias, implied


def _split_joint_table(matrices: list[np.ndarray], V: int, T_max: int, d: int) -> Iterator[list[np.ndarray]]:
    """Yield the matrices; split a table shared by tokens and positions in two, in either order."""
    joint = [m for m in matrices if sorted(m.shape) == sorted((V + T_max, d))]
    if len(joint) != 1:
        yield matrices
        return
    table = joint[0] if joint[0].shape[1] == d else joint[0].T
    rest = [m for m in matrices if m is not joint[0]]
    yield [table[:V], table[V:], *rest]
    yield [table[T_max:], table[:T_max], *rest]
