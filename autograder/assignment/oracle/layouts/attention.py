"""Assign an attention's tensors to q, k, v and o, as most submissions store them."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

import numpy as np

from autograder.assignment.oracle.layouts.entries import (
    ONE,
    ZERO,
    Layout,
    Shapes,
    Tensors,
    drop_unit_axes,
    number_entries,
    split_fused,
)
from autograder.sandbox.remote.replies import is_matrix

ROLES = ("q", "k", "v")
ROLE_PAIRS = (("q", "k"), ("q", "v"))


def attention_layouts(shapes: Shapes, d: int, H: int) -> Iterator[Layout]:
    """Yield layouts of a MultiHeadAttention's tensors as q, k, v (H, d, d_head), o (H, d_head, d) and biases.

    With only two of q, k, v, either k or v is missing; with no matrix left for o, it is the identity.
    """
    tensors = number_entries(shapes)
    matrices = [(name, drop_unit_axes(value)) for name, value in tensors if is_matrix(value.shape)]
    vectors = [value.reshape(-1) for _, value in tensors if not is_matrix(value.shape)]
    fused = [list(enumerate(four)) for four in split_fused(matrices, 4, d * d)]
    for listed in [matrices, *([(str(i), part) for i, part in four] for four in fused)]:
        for inner, out in split_off_projection(listed, d, H):
            for qkv in _qkv_layouts(inner, d, H):
                for o in projection_layouts(out, d, H):
                    for roles in (ROLES,) if len(qkv) == 3 else ROLE_PAIRS:
                        yield from add_biases(dict(zip(roles, qkv, strict=True)) | {"o": o}, vectors, d, H)


def split_off_projection(matrices: Tensors, d: int, H: int) -> Iterator[tuple[Tensors, Tensors]]:
    """Yield splits of the matrices into those for q, k, v and those for the output projection."""
    count = len(matrices)
    last_first = sorted(range(count), key=lambda i: ("o" not in matrices[i][0], -i))
    for i in last_first:  # one matrix of d^2 (or H d^2 for full-width heads)
        if matrices[i][1].size in (d * d, H * d * d):
            yield [m for j, m in enumerate(matrices) if j != i], [matrices[i]]
    runs = [range(count - H, count), range(H)] if count > H else []
    each = count // H
    if H > 1 and count % H == 0 and each > 1:  # each head holds its slice among its other matrices
        runs += [range(i, count, each) for i in reversed(range(each))]
    for run in runs:  # one slice per head
        if all(matrices[i][1].size * H == d * d for i in run):
            yield [m for j, m in enumerate(matrices) if j not in run], [matrices[i] for i in run]
    if sum(value.size for _, value in matrices) == 3 * d * d:
        yield matrices, []


def _qkv_layouts(inner: Tensors, d: int, H: int) -> Iterator[list[np.ndarray]]:
    """Yield layouts of the tensors other than the output projection as [q, k, v], or as two of them."""
    values = [value for _, value in inner]
    for roles in itertools.chain(_three_roles(values, d, H), _two_roles(values, d, H)):
        yield from map(list, itertools.permutations(roles))


def _two_roles(values: list[np.ndarray], d: int, H: int) -> Iterator[list[np.ndarray]]:
    """Yield layouts as two arrays (H, d, d_head): a matrix for each role, one for both, or two per head."""
    if len(values) == 2 and all(value.size == d * d for value in values):
        yield from ([*roles] for roles in zip(*(_split_heads(value, d, H) for value in values), strict=False))
    elif len(values) == 1 and values[0].size == 2 * d * d:
        yield from _separate_roles(values[0], d, H, 2)
    elif len(values) == 2 * H and all(value.size * H == d * d for value in values):
        each = [_put_width_first(value, d) for value in values]
        yield [np.stack(each[::2]), np.stack(each[1::2])]
        yield [np.stack(each[:H]), np.stack(each[H:])]


def _three_roles(values: list[np.ndarray], d: int, H: int) -> Iterator[list[np.ndarray]]:
    """Yield layouts as three arrays (H, d, d_head), in storage order."""
    counts = [value.size / (d * d) for value in values]
    if sum(counts) == 3 and all(count in (1, 2, 3) for count in counts):  # each tensor holds one, two or all roles
        options = [list(_separate_roles(value, d, H, int(count))) for value, count in zip(values, counts, strict=True)]
        combinations = zip(*options, strict=False) if len(set(counts)) == 1 else itertools.product(*options)
        for chosen in combinations:
            yield [role for roles in chosen for role in roles]
        return
    if len(values) == 3:  # one small matrix shared by all heads, or full-width heads
        oriented = [_put_width_first(v, d) for v in values]
        shared = [[np.repeat(v[None], H, 0)] if v.size * H == d * d else [] for v in oriented]
        own = [list(_split_heads(v, d, H)) if v.size == d * d else [] for v in values]
        for chosen in itertools.product(*(one or other for one, other in zip(shared, own, strict=True))):
            yield list(chosen)
    each, rest = divmod(len(values), H)
    if rest or not 1 <= each <= 3:
        return
    by_head = [values[i * each : (i + 1) * each] for i in range(H)]
    by_role = [values[i::H] for i in range(H)]
    for heads in (by_head, by_role):  # each head has one to three tensors of its own
        options = [list(_separate_roles_of_head(head, d)) for head in heads]
        for chosen in zip(*options, strict=False):
            if (
                all(len(three) == 3 for three in chosen)
                and len({role.shape for three in chosen for role in three}) == 1
            ):
                yield [np.stack([three[i] for three in chosen]) for i in range(3)]


def _separate_roles(value: np.ndarray, d: int, H: int, count: int) -> Iterator[list[np.ndarray]]:
    """Yield layouts of a tensor with ``count`` roles for all heads as ``count`` arrays (H, d, d_head)."""
    if count == 1:
        yield from ([heads] for heads in _split_heads(value, d, H))
        return
    d_head = d // H
    if value.ndim == 2 and sorted(value.shape) == sorted((d, count * d)):
        wide = value.T if value.shape == (count * d, d) else value  # (d, count d)
        for order in itertools.permutations((("r", count), ("h", H), ("k", d_head))):
            split = wide.reshape(d, *(size for _, size in order))
            yield list(np.einsum(f"d{''.join(letter for letter, _ in order)}->rhdk", split))
    if value.ndim == 3 and sorted(value.shape) == sorted((H, d, count * d_head)):
        for axes in itertools.permutations(range(3)):
            reordered = value.transpose(axes)
            if reordered.shape == (H, d, count * d_head):
                yield list(reordered.reshape(H, d, count, d_head).transpose(2, 0, 1, 3))
                yield list(reordered.reshape(H, d, d_head, count).transpose(3, 0, 1, 2))
    for axis, size in enumerate(value.shape):
        if size == count and value.ndim >= 3:
            parts = [list(_split_heads(np.take(value, i, axis), d, H)) for i in range(count)]
            yield from ([*roles] for roles in zip(*parts, strict=False))


def _separate_roles_of_head(values: list[np.ndarray], d: int) -> Iterator[list[np.ndarray]]:
    """Yield layouts of one head's tensors as arrays (d, d_head), three if they hold all its roles."""
    total = sum(value.size for value in values)
    d_head, rest = divmod(total, 3 * d)
    if rest or not d_head:
        return
    if d_head == d:  # full width: the shape doesn't tell the two sides apart
        yield from ([value.T for value in values], values) if all(v.shape == (d, d) for v in values) else ()
        return
    for joined in (True, False):
        found: list[np.ndarray] = []
        for value in values:
            count, rest = divmod(value.size, d * d_head)
            if rest or not count:
                return
            if value.ndim == 2:
                wide = _put_width_first(value, d)  # (d, count d_head)
                split = wide.reshape(d, count, d_head) if joined else wide.reshape(d, d_head, count).swapaxes(1, 2)
                found += list(split.swapaxes(0, 1))
            else:
                axis = value.shape.index(count) if count in value.shape else 0
                found += [_put_width_first(np.take(value, i, axis), d) for i in range(value.shape[axis])]
        yield found


def _split_heads(value: np.ndarray, d: int, H: int) -> Iterator[np.ndarray]:
    """Yield layouts of one role's tensor of d^2 entries as (H, d, d_head)."""
    d_head = d // H
    if value.shape == (d, d):
        for wide in (value.T, value):  # nn.Linear stores (out, in)
            yield wide.reshape(d, H, d_head).transpose(1, 0, 2)
            if min(H, d_head) > 1:  # otherwise the same layout again
                yield wide.reshape(d, d_head, H).transpose(2, 0, 1)
    elif value.ndim == 3 and sorted(value.shape) == sorted((H, d, d_head)):
        for axes in itertools.permutations(range(3)):
            if value.transpose(axes).shape == (H, d, d_head):
                yield value.transpose(axes)


def projection_layouts(out: Tensors, d: int, H: int) -> Iterator[np.ndarray]:
    """Yield layouts of the output projection as (H, d_head, d)."""
    values = [value for _, value in out]
    if not values:
        yield np.where(np.eye(d, dtype=bool), ONE, ZERO).reshape(H, d // H, d)
    elif len(values) == H and H > 1:
        slices = [v if v.shape == (d // H, d) else v.T for v in values]
        if all(v.shape == (d // H, d) for v in slices):
            yield np.stack(slices)
    elif H > 1 and values[0].size == H * d * d:  # full-width heads
        yield (values[0].T if values[0].shape == (d, H * d) else values[0]).reshape(H, d, d)
    else:
        for reordered in _split_heads(values[0].T if values[0].ndim == 2 else values[0], d, H):
            yield reordered.transpose(0, 2, 1)


def _put_width_first(value: np.ndarray, d: int) -> np.ndarray:
    """Transpose a matrix with a side of d so that this side comes first."""
    return value.T if value.ndim == 2 and value.shape[0] != d else value


def add_biases(layout: Layout, vectors: list[np.ndarray], d: int, H: int) -> Iterator[Layout]:
    """Yield the layout with the vectors as biases: of the projection only, or also of queries, keys and values."""
    d_head = d // H
    if len(vectors) <= 1:
        yield layout | ({"o.bias": vectors[0]} if vectors and vectors[0].size == d else {})
        return
    flat = np.concatenate(vectors)
    if flat.size != 4 * d:
        return
    if len(vectors) == 2:  # one fused, one for the projection
        inner = max(vectors, key=len).reshape(3, H, d_head)
        projection = min(vectors, key=len)
    elif len(vectors) == 4:
        inner, projection = np.stack(vectors[:3]).reshape(3, H, d_head), vectors[3]
    else:
        inner, projection = np.stack(vectors[:-1]).reshape(H, 3, d_head).swapaxes(0, 1), vectors[-1]
    for order in itertools.permutations(range(3)):
        biases = {f"{role}.bias": inner[i] for role, i in zip(ROLES, order, strict=True)}
        yield layout | biases | {"o.bias": projection}
