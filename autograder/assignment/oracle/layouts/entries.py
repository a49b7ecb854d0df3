"""Number the entries of a class's tensors, and cut fused tensors into matrices."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from autograder.sandbox.remote.replies import is_matrix

Shapes = Sequence[tuple[str, Sequence[int]]]
Tensors = Sequence[tuple[str, np.ndarray]]  # names, and arrays of entry numbers
Layout = dict[str, np.ndarray]  # arrays of entry numbers, by the oracle's names
ZERO, ONE = -2, -1  # the constants that follow the entries


def number_entries(shapes: Shapes) -> Tensors:
    """Number the entries of all tensors end to end, each tensor's in its own shape."""
    found, start = [], 0
    for name, shape in shapes:
        size = int(np.prod(shape, dtype=np.int64))
        found.append((name, np.arange(start, start + size).reshape(tuple(shape))))
        start += size
    return found


def drop_unit_axes(value: np.ndarray) -> np.ndarray:
    """Drop the size-1 axes that a batch or a convolution adds to a matrix; flatten a vector."""
    if not is_matrix(value.shape):
        return value.reshape(-1)
    while value.ndim > 2 and 1 in value.shape:
        value = value.squeeze(axis=value.shape.index(1))
    return value


def split_fused(matrices: Tensors, count: int, size: int) -> Iterator[list[np.ndarray]]:
    """Yield layouts of a single tensor of ``count`` times ``size`` entries as ``count`` matrices."""
    if len(matrices) != 1 or matrices[0][1].size != count * size:
        return
    value = matrices[0][1]
    for axis, length in enumerate(value.shape):
        if value.ndim > 2 and length == count:
            yield [np.take(value, i, axis) for i in range(count)]
        elif value.ndim == 2 and length % count == 0:
            yield np.split(value, count, axis)
