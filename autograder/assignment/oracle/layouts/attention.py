"""Assign an attention's tensors to queries, keys, values and the output projection, each with its axes in any order."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

import numpy as np

from autograder.assignment.oracle.layouts.entries import (
    ONE,
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

ROLES = ("q", "k", "v")
MAX_STACKS = 4  # one for each role
ORDERS = ("hkd", "khd", "dhk", "dkh", "hdk", "kdh")  # of a role's axes, as nn.Linear has them first
SHARED = ("kd", "dk")  # all heads share the role
FULL_WIDTH = tuple(order.replace("k", "w") for order in ORDERS)
Slot = Sequence[Source]  # one role of a stack, with its axes in each possible order


def attention_layouts(shapes: Shapes, d: int, H: int, rare: bool = True) -> Iterator[Layout]:
    """Yield layouts of a MultiHeadAttention's tensors, the common ones first, and others if ``rare``.

    With only two of q, k, v, either k or v is missing; with no matrix left for o, it is the identity. In common layouts
    the axes of q, k and v are in one order, as far as the tensors allow.
    """
    if H < 1 or d % H:
        return
    lengths = axis_sizes({"d": d, "H": H})
    for alternatives in _list_alternatives(shapes, lengths):
        assigned = [(stacks, roles) for stacks in alternatives for roles in _assign_stacks(stacks, lengths)]
        separate = [_is_separate(roles["o"][0], stacks) for stacks, roles in assigned]
        common = [
            dict.fromkeys(_common_layouts(roles)) if usual or not any(separate) else {}
            for (_, roles), usual in zip(assigned, separate, strict=True)
        ]
        for (stacks, roles), sources in zip(assigned, common, strict=True):
            for chosen in sources:
                yield from _add_biases(dict(zip(roles, chosen, strict=True)), stacks, lengths)
        for (stacks, roles), sources in zip(assigned, common, strict=True) if rare else ():
            for chosen in itertools.product(*roles.values()):
                if chosen not in sources:
                    yield from _add_biases(dict(zip(roles, chosen, strict=True)), stacks, lengths)
        if assigned:
            return


def _list_alternatives(shapes: Shapes, lengths: Mapping[str, int]) -> Iterator[list[Stacks]]:
    """Yield the ways to stack the tensors; the later ones matter only if no earlier one can be assigned."""
    by_name = stack_tensors(shapes)
    yield [by_name]
    yield [stack_tensors(shapes, by_name=False)]
    yield [*cut_stacks(by_name, "attention", lengths)]


def _assign_stacks(stacks: Stacks, lengths: Mapping[str, int]) -> Iterator[dict[str, Slot]]:
    """Yield each assignment of the matrices to roles."""
    matrices, vectors = _separate_vectors(stacks, lengths["d"])
    are_biases = all(stack.size <= (len(ROLES) + 1) * lengths["d"] for stack in vectors.values())
    if are_biases and len(matrices) <= MAX_STACKS and len(vectors) <= MAX_STACKS:
        options = [list(_split_roles(name, stack, lengths)) for name, stack in matrices.items()]
        for slots in itertools.product(*options):
            yield from _assign_roles([*itertools.chain(*slots)], stacks, lengths)


def _separate_vectors(stacks: Stacks, d: int) -> tuple[Stacks, Stacks]:
    """Return the stacks of matrices and those of vectors."""
    matrices = {name: stack for name, stack in stacks.items() if is_matrix_stack(stack, d)}
    return matrices, {name: stack for name, stack in stacks.items() if name not in matrices}


def _split_roles(name: str, stack: np.ndarray, lengths: Mapping[str, int]) -> Iterator[list[Slot]]:
    """Yield the ways in which a stack holds one to four roles: one slot for each."""
    for orders in (ORDERS, SHARED, FULL_WIDTH) if lengths["h"] > 1 else (ORDERS,):
        parts, rest = divmod(stack.size, math.prod(lengths[letter] for letter in orders[0]))
        if rest or not 1 <= parts <= len(ROLES) + 1:
            continue
        for alike in axis_orders(stack, orders, parts, lengths):
            yield [[Source((name,), axes, part, parts) for axes in alike] for part in range(parts)]


def _assign_roles(slots: list[Slot], stacks: Stacks, lengths: Mapping[str, int]) -> Iterator[dict[str, Slot]]:
    """Yield each assignment of the slots to roles; the projection takes one whose name has an o, or the last."""
    count = len(slots)
    if count not in (len(ROLES), len(ROLES) + 1):
        return
    for last in sorted(range(count), key=lambda i: ("o" not in slots[i][0].tensors[0].lower(), -i)):
        inner, projection = [slot for i, slot in enumerate(slots) if i != last], slots[last][0]
        widths = {"w" in slot[0].axes for slot in inner}
        if len(widths) > 1 or (True in widths and "w" not in projection.axes):
            continue
        if lengths["h"] > 1 and "h" not in projection.axes:
            continue  # each head needs its own slice
        if count > len(ROLES) == projection.parts and not _is_separate(projection, stacks):
            continue  # three fused roles are q, k and v
        width_first = sorted(slots[last], key=lambda source: source.axes.replace("r", "")[0] != "d")
        reverse = [replace(source, axes=source.axes.replace("h", "H")) for source in width_first if lengths["h"] > 1]
        for roles in (ROLES,) if count > len(ROLES) else (("q", "k"), ("q", "v")):
            for chosen in itertools.permutations(inner):
                yield dict(zip(roles, chosen, strict=True)) | {"o": [*width_first, *reverse]}
    if count == len(ROLES) and not any("w" in slot[0].axes for slot in slots):
        for chosen in itertools.permutations(slots):
            yield dict(zip(ROLES, chosen, strict=True)) | {"o": [Source(part=ONE)]}


def _is_separate(source: Source, stacks: Stacks) -> bool:
    """Return whether one whole tensor holds the role and no other; true for the identity."""
    return not source.tensors or len(stacks[source.tensors[0]]) == source.parts


def _common_layouts(roles: Mapping[str, Slot]) -> Iterator[tuple[Source, ...]]:
    """Yield the layouts in which q, k and v have one order of axes, or their first if they cannot have it."""
    *inner, projections = roles.values()
    by_order = [{source.axes.replace("r", ""): source for source in slot} for slot in inner]
    for order in dict.fromkeys(itertools.chain(*by_order)):
        alike = [slot.get(order, next(iter(slot.values()))) for slot in by_order]
        yield from ((*alike, o) for o in projections if "H" not in o.axes)


def _add_biases(layout: Layout, stacks: Stacks, lengths: Mapping[str, int]) -> Iterator[Layout]:
    """Yield the layout with the vectors as biases: of the projection only, or also of queries, keys and values.

    These biases are listed in the order of their matrices, and have the same axes but d.
    """
    matrices, vectors = _separate_vectors(stacks, lengths["d"])
    if not vectors:
        yield layout
    elif len(vectors) == 1 and next(iter(vectors.values())).size == lengths["d"]:
        yield {**layout, "o.bias": Source((*vectors,), "rd")}
    else:
        roles = [*layout][: -1 if len(vectors) < len({source.tensors for source in layout.values()}) else None]
        weights = sorted({*(name for role in roles for name in layout[role].tensors)}, key=[*matrices].index)
        if len(weights) != len(vectors):
            return
        biases = dict(zip(weights, vectors, strict=True))
        found = {}
        for role in roles:
            source = layout[role]
            axes = "rd" if role == "o" else source.axes.replace("d", "")
            name = biases[source.tensors[0]]
            if source.parts * math.prod(lengths[letter] for letter in axes.replace("r", "")) != vectors[name].size:
                return
            found[f"{role}.bias"] = Source((name,), axes, source.part, source.parts)
        yield {**layout, **found}
