"""Describe a role by the order of its tensors' axes, and find its entries at any sizes."""

from __future__ import annotations

import itertools
import math
import operator
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from autograder.sandbox.remote.replies import is_matrix

Shapes = Sequence[tuple[str, Sequence[int]]]
Stacks = Mapping[str, np.ndarray]  # arrays of entry numbers (n, *shape), by the name of their n tensors
ZERO, ONE = -2, -1  # the constants that follow the entries
# The oracle's order of each role's axes, (d,) if not listed. The letters: d width, h heads, k width of a head,
# m inner width of the MLP, v vocabulary, t positions. An inner width in CHUNKS parts has the axes c and n instead.
AXES = {
    **dict.fromkeys(("q", "k", "v"), "hdk"),
    **dict.fromkeys(("q.bias", "k.bias", "v.bias"), "hk"),
    "o": "hkd",
    "up": "dm",
    "up.bias": "m",
    "down": "md",
    "tok": "vd",
    "pos": "td",
    "head": "dv",
    "head.bias": "v",
}
CHUNKS = 4
FORMS = {"H": "h", "w": "k", "u": "t"}  # the same axis: heads in reverse, heads of full width, one more position
MAX_ENTRIES = 6_000_000  # of all tensors, seven times those of the course's model: a shape is only a claim


def _in_any_order(*pieces: str) -> tuple[tuple[str, ...], ...]:
    return (*dict.fromkeys(itertools.permutations(pieces)),)


BIAS_IN_MATRIX = (*_in_any_order("d", "1"), *_in_any_order("4d", "1"))  # as a row or a column
# Tensors that hold several roles end to end: the lengths of the pieces along one axis, as products.
PIECES = {
    "attention": (
        *BIAS_IN_MATRIX,
        *_in_any_order("dd", "d"),
        *_in_any_order("4dd", "d"),
        ("3dd", "d", "dd"),
    ),
    "mlp": (
        *BIAS_IN_MATRIX,
        *_in_any_order("4d", "d"),
        *_in_any_order("4", "1"),  # both biases as rows of width d
        *_in_any_order("4dd", "4d"),
        *_in_any_order("4dd", "d"),
        *_in_any_order("d", "d", "1"),  # a row for each hidden unit
        *_in_any_order("4d", "4d", "4", "1"),
        *_in_any_order("4dd", "4dd", "4d", "d"),
    ),
    "model": (
        *_in_any_order("v", "t"),
        *_in_any_order("v", "v", "t"),
        *_in_any_order("v", "v", "t", "2"),  # with the final norm
        *_in_any_order("vd", "td"),
        *_in_any_order("vd", "vd", "td"),
        *_in_any_order("vd", "vd", "td", "2d"),
    ),
}
MAX_CUTS = 200  # of all tensors together
PIECE = " piece "  # in a stack's name, before the axis, the lengths and the number of the piece


@dataclass(frozen=True, slots=True)
class Source:
    """The tensors that hold a role, and the order of their axes.

    ``tensors`` are names of tensors or of their pieces, with * for each number. Tensors that share such a name belong
    to several heads or roles, and are stacked; those of vectors are joined end to end. ``axes`` are the axes of the
    result, of which r has length ``parts``: the role is its number ``part``. An axis h is missing if all heads share
    the role. Without tensors, all entries are the constant ``part``, and "o" is the identity.
    """

    tensors: tuple[str, ...] = ()
    axes: str = ""
    part: int = 0
    parts: int = 1


Layout = Mapping[str, Source]  # by the oracle's names


def number_entries(shapes: Shapes) -> list[tuple[str, np.ndarray]]:
    """Number the entries of all tensors end to end, each tensor's in its own shape; none if there are too many."""
    found: list[tuple[str, np.ndarray]] = []
    start = 0
    if sum(math.prod(shape) for _, shape in shapes) > MAX_ENTRIES:
        return found
    for name, shape in shapes:
        size = math.prod(shape)
        found.append((name, np.arange(start, start + size).reshape(tuple(shape))))
        start += size
    return found


def stack_tensors(shapes: Shapes, by_name: bool = True) -> Stacks:
    """Stack tensors of one shape whose names differ only in numbers, or of one shape only, unless ``by_name``.

    Their name has * for each number, and ' for each earlier stack of the same name.
    """
    groups: dict[tuple[str, tuple[int, ...]], list[np.ndarray]] = {}
    for name, value in number_entries(shapes):
        if value.size:
            groups.setdefault((re.sub("[0-9]+", "*", name) if by_name else "", value.shape), []).append(value)
    stacks: dict[str, np.ndarray] = {}
    for (name, _), values in groups.items():
        while name in stacks:
            name += "'"
        stacks[name] = np.stack(values)
    return stacks


def cut_stacks(stacks: Stacks, component: str, lengths: Mapping[str, int]) -> Iterator[Stacks]:
    """Yield the stacks with each tensor cut that can hold several roles end to end, in every way; none if none can."""
    cuts = {name: ways for name, stack in stacks.items() if (ways := [*_find_cuts(stack, component, lengths)])}
    if not cuts or math.prod(map(len, cuts.values())) > MAX_CUTS:
        return
    for selected in itertools.product(*cuts.values()):
        chosen = dict(zip(cuts, selected, strict=True))
        held: dict[str, np.ndarray] = {}
        for name, stack in stacks.items():
            if name in chosen:
                axis, pieces = chosen[name]
                names = (f"{name}{PIECE}{axis} {'+'.join(pieces)} {number}" for number in range(len(pieces)))
                held.update(zip(names, _cut(stack, axis, pieces, lengths), strict=True))
            else:
                held[name] = stack
        yield held


def _find_cuts(stack: np.ndarray, component: str, lengths: Mapping[str, int]) -> Iterator[tuple[int, Sequence[str]]]:
    """Yield the axis and the pieces along it."""
    sizes = {pieces: sum(_multiply(piece, lengths) for piece in pieces) for pieces in PIECES[component]}
    for axis, length in enumerate(stack.shape[1:], start=1):
        yield from ((axis, pieces) for pieces, size in sizes.items() if size == length)


def _cut(stack: np.ndarray, axis: int, pieces: Sequence[str], lengths: Mapping[str, int]) -> list[np.ndarray]:
    """Cut a stack along an axis; raise KeyError or ValueError if the pieces do not fit."""
    ends = [*itertools.accumulate(_multiply(piece, lengths) for piece in pieces)]
    if ends[-1] != stack.shape[axis]:
        raise ValueError(f"axis {axis} of {stack.shape} is not {' + '.join(pieces)}")
    values = zip(pieces, np.split(stack, ends[:-1], axis), strict=True)
    return [value.squeeze(axis) if piece == "1" else value for piece, value in values]


def _get_stack(name: str, stacks: Stacks, lengths: Mapping[str, int]) -> np.ndarray:
    """Return the stack, or the piece of one, that a source names."""
    whole, _, cut = name.partition(PIECE)
    if not cut:
        return stacks[name]
    axis, pieces, number = cut.split()
    return _cut(stacks[whole], int(axis), pieces.split("+"), lengths)[int(number)]


def is_matrix_stack(stack: np.ndarray, d: int) -> bool:
    """Return whether the tensors of a stack are matrices, which may be stored flat."""
    return (is_matrix(stack.shape[1:]) and stack.size > d) or stack[0].size % d**2 == 0


def _multiply(factors: str, lengths: Mapping[str, int]) -> int:
    return math.prod(int(factor) if factor.isdigit() else lengths[factor] for factor in factors)


def stack_both_ways(shapes: Shapes) -> Stacks:
    """Return all stacks that a source may name: by name, and by shape only."""
    return {**stack_tensors(shapes, by_name=False), **stack_tensors(shapes)}


def axis_sizes(sizes: Mapping[str, int]) -> dict[str, int]:
    """Return the length of each axis by its letter, but for m, which follows from the tensor."""
    d, H = sizes["d"], sizes.get("H", 1)
    lengths = {"d": d, "c": CHUNKS, "h": H, "H": H, "k": d // H, "w": d}
    if "V" in sizes:
        V, T_max = sizes["V"], sizes["T_max"]
        lengths |= {"v": V, "t": T_max, "u": T_max + 1}
    return lengths


def split_axes(value: np.ndarray, axes: str, lengths: Mapping[str, int]) -> np.ndarray | None:
    """Reshape ``value`` to ``axes`` if each of its own axes is one or several of them, else return None."""
    shape = [lengths[letter] for letter in axes]
    if math.prod(shape) != value.size or not _bounds(value.shape) <= _bounds(shape):
        return None
    return value.reshape(shape)


def _bounds(shape: Sequence[int]) -> set[int]:
    """Return where one axis ends and the next begins, as the product of all lengths so far."""
    return {1, *itertools.accumulate(shape, operator.mul)}


def axis_orders(
    stack: np.ndarray, letters: Sequence[str], parts: int, lengths: Mapping[str, int]
) -> Iterator[list[str]]:
    """Yield the orders in ``letters`` that the axes of ``stack`` can have, with ``parts`` roles along an axis r.

    Those of one list cut the stack into the same parts, so each part may have an order of its own. Unless the tensors
    are flat, nothing is inside of d.
    """
    lengths, bounds = {**lengths, "r": parts}, _bounds(stack.shape)
    is_flat = stack.shape[-1] >= lengths["d"] ** 2
    found: dict[int, list[str]] = {}
    seen = set()
    for at in range(len(letters[0]) + 1):
        for order in letters:
            axes = f"{order[:at]}r{order[at:]}"
            longer = "".join(letter for letter in axes if lengths[letter] > 1)  # an axis of length 1 fits anywhere
            whole = math.prod(lengths[letter] for letter in axes[: axes.index("d") + 1])
            if longer not in seen and (whole in bounds or is_flat) and split_axes(stack, axes, lengths) is not None:
                seen.add(longer)
                found.setdefault(math.prod(lengths[letter] for letter in axes[:at]), []).append(axes)
    yield from found.values()


def find_entries(role: str, source: Source, stacks: Stacks, lengths: Mapping[str, int]) -> np.ndarray:
    """Return the entry numbers of ``role``, with its axes as in the oracle. Raises KeyError or ValueError if absent."""
    wanted = AXES.get(role, "d")
    if not source.tensors:
        value = np.full([lengths[letter] for letter in wanted], source.part)
        return np.where(np.eye(lengths["d"]).reshape(value.shape) == 1, ONE, ZERO) if role == "o" else value
    values = [_get_stack(name, stacks, lengths) for name in source.tensors]
    value = values[0] if len(wanted) > 1 else np.concatenate([value.reshape(-1) for value in values])
    lengths = {**lengths, "r": source.parts}
    unknown = [letter for letter in source.axes if letter not in lengths]
    lengths |= dict.fromkeys(unknown, value.size // math.prod(lengths.get(letter, 1) for letter in source.axes))
    split = split_axes(value, source.axes, lengths)
    if split is None:
        raise ValueError(f"{role} has no axes {source.axes}")
    split = np.moveaxis(split, source.axes.index("r"), 0)[source.part]
    axes = source.axes.replace("r", "")
    if "h" in wanted and not {"h", "H"} & {*axes}:  # one for all heads
        split, axes = np.broadcast_to(split, (lengths["h"], *split.shape)), f"h{axes}"
    for at, letter in enumerate(axes):
        own = FORMS.get(letter, letter)
        if letter == "H":
            split = np.flip(split, at)
        axes = axes.replace(letter, own)
    shape = [split.shape[axes.index(letter)] if letter in axes else -1 for letter in wanted]
    if "c" in axes:
        wanted = wanted.replace("m", "cn")
    return split.transpose([axes.index(letter) for letter in wanted]).reshape(shape).copy()


def uses_all(layout: Layout, shapes: Shapes) -> bool:
    """Return whether each of the tensors has a role."""
    used = {name.partition(PIECE)[0] for source in layout.values() for name in source.tensors}
    return used in ({*stack_tensors(shapes)}, {*stack_tensors(shapes, by_name=False)})


def build_layout(layout: Layout, shapes: Shapes, sizes: Mapping[str, int]) -> dict[str, np.ndarray] | None:
    """Return the entry numbers of each role of ``layout``; None if the tensors do not fit it."""
    stacks, lengths = stack_both_ways(shapes), axis_sizes(sizes)
    try:
        return {role: find_entries(role, source, stacks, lengths) for role, source in layout.items()}
    except (KeyError, ValueError):
        return None
