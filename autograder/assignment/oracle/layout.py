"""Match a student's tensors to the oracle's weights: yield every layout that the shapes allow.

Names are the student's own, and shapes allow several readings (a fused matrix may have its heads or its three roles
outermost). Each function yields all of them, the most common first, and the caller keeps the one under which the oracle
reproduces the outputs of the student's class.

A reading holds, for each of the oracle's weights, the positions of its entries among all of the student's, laid end to
end and followed by a 0 and a 1. It can therefore copy values in either direction, and gradients too.
"""

from __future__ import annotations

import itertools
import math
import operator
import re
from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from autograder.sandbox.remote.replies import is_matrix

Shapes = Sequence[tuple[str, Sequence[int]]]
Tensors = Sequence[tuple[str, np.ndarray]]  # of positions
Layout = dict[str, np.ndarray]  # of positions
ROLES = ("q", "k", "v")
TWO = (("q", "k"), ("q", "v"))
ZERO, ONE = -2, -1
FEW = 2000  # readings searched for the same one at other sizes
MOST_PARTS = 8  # tensors per head that are read by rule: twice the number of roles
MOST = 4  # matrices with a table's shape: more than any model has, few enough to try all pairs


def positions(shapes: Shapes) -> Tensors:
    """Number the entries of all tensors end to end, each tensor's in its own shape."""
    found, start = [], 0
    for name, shape in shapes:
        size = int(np.prod(shape, dtype=np.int64))
        found.append((name, np.arange(start, start + size).reshape(tuple(shape))))
        start += size
    return found


def candidate_layouts(component: str, shapes: Shapes, sizes: Mapping[str, int]) -> Iterator[Layout]:
    """Yield all readings of a component's tensors, numbered as in the oracle's answers, the common ones first."""
    yield from common_layouts(component, shapes, sizes)
    if component == "attention":
        yield from attention_layouts_by_rule(shapes, sizes["d"], sizes["H"])


def common_layouts(component: str, shapes: Shapes, sizes: Mapping[str, int]) -> Iterator[Layout]:
    """Yield the readings that most submissions have; stop at shapes that don't fit."""
    d = sizes["d"]
    try:
        if component == "attention":
            yield from attention_layouts(shapes, d, sizes["H"])
        elif component == "mlp":
            yield from mlp_layouts(shapes, d)
        elif component == "block":
            yield from (reading for reading, _ in norm_layouts(positions(shapes), d, ["ln1", "ln2"]))
        else:
            yield from (reading for reading, _ in model_layouts(shapes, sizes["V"], sizes["T_max"], d))
    except ValueError:
        return  # an unknown layout is not an error


def same_layout(
    component: str, known: Shapes, known_sizes: Mapping[str, int], number: int, shapes: Shapes, sizes: Mapping[str, int]
) -> Layout | None:
    """Find, at other ``sizes``, the reading that matches reading ``number`` of ``known``, if any.

    ``known`` and ``shapes`` are the tensors of one class, built twice. Numbers do not carry over, since equal sizes
    add readings: the result has the same rank among those that take each role from the same tensors.
    """
    exact = [name for name, _ in known] == [name for name, _ in shapes]
    seen = [
        _sources(r, known, exact)
        for r in itertools.islice(candidate_layouts(component, known, known_sizes), number + 1)
    ]
    if len(seen) <= number:
        return None
    rank = seen.count(seen[number]) - 1
    candidates = itertools.islice(candidate_layouts(component, shapes, sizes), FEW)
    alike = (reading for reading in candidates if _sources(reading, shapes, exact) == seen[number])
    return next(itertools.islice(alike, rank, None), None)


def _sources(reading: Layout, shapes: Shapes, exact: bool) -> dict[str, tuple[str, ...]]:
    """List each role's tensors by name; unless ``exact``, without the numbers in it, which depend on H."""
    names = [name if exact else re.sub("[0-9]+", "*", name) for name, _ in shapes]
    ends = np.cumsum([math.prod(shape) for _, shape in shapes])
    found = {}
    for role, places in reading.items():
        own = np.unique(np.searchsorted(ends, places[places >= 0], side="right"))
        found[role] = tuple(dict.fromkeys(names[i] for i in own))
    return found


def _trim(value: np.ndarray) -> np.ndarray:
    """Drop the size-1 axes that a batch or a convolution adds to a matrix; flatten a vector."""
    if not is_matrix(value.shape):
        return value.reshape(-1)
    while value.ndim > 2 and 1 in value.shape:
        value = value.squeeze(axis=value.shape.index(1))
    return value


def attention_layouts(shapes: Shapes, d: int, H: int) -> Iterator[Layout]:
    """Yield readings of a MultiHeadAttention's tensors as q, k, v (H, d, d_head), o (H, d_head, d) and biases.

    With only two of q, k, v, either k or v is missing; with no matrix left for o, it is the identity.
    """
    tensors = positions(shapes)
    matrices = [(name, _trim(value)) for name, value in tensors if is_matrix(value.shape)]
    vectors = [value.reshape(-1) for _, value in tensors if not is_matrix(value.shape)]
    apart = [list(enumerate(four)) for four in _parted(matrices, 4, d * d)]
    for kept in [matrices, *([(str(i), part) for i, part in four] for four in apart)]:
        for inner, out in _split_output(kept, d, H):
            for qkv in _roles(inner, d, H):
                for o in _outputs(out, d, H):
                    for roles in (ROLES,) if len(qkv) == 3 else TWO:
                        reading = dict(zip(roles, qkv, strict=True)) | {"o": o}
                        yield from _with_biases(reading, vectors, d, H)


def attention_layouts_by_rule(shapes: Shapes, d: int, H: int) -> Iterator[Layout]:
    """Yield readings in which each role orders its axes (head, d, d_head) in its own way.

    A tensor holds one, two or all roles for all heads, or is one of a run of tensors, one per head.
    """
    tensors = positions(shapes)
    matrices = [(name, _trim(value)) for name, value in tensors if is_matrix(value.shape)]
    vectors = [value.reshape(-1) for _, value in tensors if not is_matrix(value.shape)]
    if H < 1 or d % H or len(matrices) > MOST_PARTS * H or not (len(vectors) <= 1 or sum(map(len, vectors)) == 4 * d):
        return
    for inner, out in _split_output(matrices, d, H):
        outputs = [np.stack([value for _, value in out])] if len(out) > 1 else [value for _, value in out]
        readings_of_o = [o[0].transpose(0, 2, 1) for value in outputs for o in _orders(value, 1, d, H)]
        if H > 1:  # the heads may be merged in reverse order
            readings_of_o += [o[::-1] for o in readings_of_o]
        for units in _units([value for _, value in inner], d, H):
            for chosen in itertools.product(*(list(_orders(value, count, d, H)) for value, count in units)):
                for qkv in itertools.permutations(np.concatenate(chosen)):
                    for o in readings_of_o if out else _outputs([], d, H):
                        yield from _with_biases(dict(zip(ROLES, qkv, strict=True)) | {"o": o}, vectors, d, H)


def _units(values: list[np.ndarray], d: int, H: int) -> Iterator[list[tuple[np.ndarray, int]]]:
    """Yield the tensors, those of single heads stacked in runs or in turns, each with its number of roles."""
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


def _orders(value: np.ndarray, count: int, d: int, H: int) -> Iterator[np.ndarray]:
    """Yield readings of a tensor as ``count`` roles (count, H, d, d_head): d is an axis, the others in any order."""
    sizes = {"r": count, "h": H, "k": d // H}
    if value.size != count * d * d:
        return
    for axis in (axis for axis, size in enumerate(value.shape) if size == d):
        rest = np.moveaxis(value, axis, -1)
        bounds = {1, *itertools.accumulate(rest.shape[:-1], operator.mul)}
        seen = set()
        for order in itertools.permutations("rhk"):
            lengths = tuple(sizes[letter] for letter in order)
            kept = tuple(letter for letter in order if sizes[letter] > 1)  # an axis of size 1 fits anywhere
            if kept in seen or not bounds <= {1, *itertools.accumulate(lengths, operator.mul)}:
                continue
            seen.add(kept)
            yield rest.reshape(*lengths, d).transpose(*(order.index(letter) for letter in "rh"), 3, order.index("k"))


def mlp_layouts(shapes: Shapes, d: int) -> Iterator[Layout]:
    """Yield readings of an MLP's tensors as up (d, h), down (h, d) and their biases, for any inner width h."""
    tensors = positions(shapes)
    matrices = [(name, _trim(value)) for name, value in tensors if is_matrix(value.shape)]
    vectors = [value.reshape(-1) for _, value in tensors if not is_matrix(value.shape)]
    if len(vectors) > 2:
        return
    apart = [value for _, value in matrices] if len(matrices) == 2 else []
    pairs = [apart] if apart else list(_parted(matrices, 2, 4 * d * d))
    for first, second in itertools.chain.from_iterable(map(itertools.permutations, pairs)):
        if first.ndim != 2 or second.ndim != 2:
            continue
        for up in (first.T, first):
            for down in (second.T, second):
                if up.shape[0] != d or down.shape != up.shape[::-1]:
                    continue
                reading = {"up": up, "down": down}
                fitting = [("up.bias", up.shape[1]), ("down.bias", d)]
                for order in itertools.permutations(vectors):
                    for names in itertools.combinations(fitting, len(order)):
                        if all(len(v) == size for v, (_, size) in zip(order, names, strict=True)):
                            yield reading | {name: v for v, (name, _) in zip(order, names, strict=True)}


def _parted(matrices: Tensors, count: int, size: int) -> Iterator[list[np.ndarray]]:
    """Yield readings of a single tensor of ``count`` times ``size`` entries as ``count`` matrices."""
    if len(matrices) != 1 or matrices[0][1].size != count * size:
        return
    value = matrices[0][1]
    for axis, length in enumerate(value.shape):
        if value.ndim > 2 and length == count:
            yield [np.take(value, i, axis) for i in range(count)]
        elif value.ndim == 2 and length % count == 0:
            yield np.split(value, count, axis)


def norm_layouts(tensors: Tensors, d: int, names: Sequence[str]) -> Iterator[tuple[Layout, str]]:
    """Yield readings of vectors as gains and biases of the norms ``names``, each with the mistake that it implies."""
    few = [value.reshape(-1) for _, value in tensors if value.size <= 4 * d]
    if sum(map(len, few)) % d:
        few = [value for value in few if len(value) % d == 0]
    # One tensor may hold gain and bias, or several tensors one of them.
    vectors = list(np.concatenate(few).reshape(-1, d)) if few else []
    one, zero = np.full(d, ONE), np.full(d, ZERO)
    slots = [f"{name}.{part}" for name in names for part in ("gain", "bias")]
    if len(vectors) == len(slots):
        for order in itertools.permutations(vectors):
            yield dict(zip(slots, order, strict=True)), ""
    elif len(vectors) == len(names):
        for order in itertools.permutations(vectors):
            gains = {f"{name}.gain": v for name, v in zip(names, order, strict=True)}
            yield gains | {f"{name}.bias": zero for name in names}, "norm_bias_missing"
            biases = {f"{name}.bias": v for name, v in zip(names, order, strict=True)}
            yield biases | {f"{name}.gain": one for name in names}, "norm_gain_missing"
        if len(names) == 2:
            for gain, bias in itertools.permutations(vectors):
                yield {slot: (gain if slot.endswith("gain") else bias) for slot in slots}, "norm_shared"
    elif not vectors:
        yield {slot: (one if slot.endswith("gain") else zero) for slot in slots}, "norm_without_affine"


def model_layouts(shapes: Shapes, V: int, T_max: int, d: int) -> Iterator[tuple[Layout, str]]:
    """Yield readings of GPT's own tensors as tok, pos, head and final norm, each with the mistake that it implies."""
    tensors = positions(shapes)
    matrices = [_trim(value) for _, value in tensors if _trim(value).ndim == 2]
    vectors = [(name, value) for name, value in tensors if value.size <= 4 * d]
    for apart in _tables(matrices, V, T_max, d):
        tables = [m if m.shape == (V, d) else m.T for m in apart if m.shape in ((V, d), (d, V))]
        rows = {(size, d): size for size in (T_max, T_max + 1)} | {(d, size): size for size in (T_max, T_max + 1)}
        places = [m if m.shape[1] == d else m.T for m in apart if m.shape in rows]
        if len(tables) > MOST or len(places) > MOST:
            continue
        places = places or [np.full((T_max, d), ZERO)]
        bias = next(({"head.bias": value.reshape(-1)} for _, value in vectors if value.size == V), {})
        for tok, head in [*itertools.permutations(tables, 2), *((t, t) for t in tables[:1] if len(tables) == 1)]:
            for pos in places:
                for norm, implied in norm_layouts([v for v in vectors if v[1].size != V], d, ["ln_f"]):
                    yield {"tok": tok, "pos": pos, "head": head.T} | norm | bias, implied


def _tables(matrices: list[np.ndarray], V: int, T_max: int, d: int) -> Iterator[list[np.ndarray]]:
    """Yield the matrices; a table shared by tokens and positions is split in two, in either order."""
    joint = [m for m in matrices if sorted(m.shape) == sorted((V + T_max, d))]
    if len(joint) != 1:
        yield matrices
        return
    table = joint[0] if joint[0].shape[1] == d else joint[0].T
    rest = [m for m in matrices if m is not joint[0]]
    yield [table[:V], table[V:], *rest]
    yield [table[T_max:], table[:T_max], *rest]


# --- attention, in detail ---------------------------------------------------------------------------------------------


def _split_output(matrices: Tensors, d: int, H: int) -> Iterator[tuple[Tensors, Tensors]]:
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


def _roles(inner: Tensors, d: int, H: int) -> Iterator[list[np.ndarray]]:
    """Yield readings of the tensors other than the output projection as [q, k, v], or as two of them."""
    values = [value for _, value in inner]
    for roles in itertools.chain(_threes(values, d, H), _twos(values, d, H)):
        yield from map(list, itertools.permutations(roles))


def _twos(values: list[np.ndarray], d: int, H: int) -> Iterator[list[np.ndarray]]:
    """Yield readings as two arrays (H, d, d_head): a matrix for each role, one for both, or two per head."""
    if len(values) == 2 and all(value.size == d * d for value in values):
        yield from ([*ways] for ways in zip(*(_heads(value, d, H) for value in values), strict=False))
    elif len(values) == 1 and values[0].size == 2 * d * d:
        yield from _whole(values[0], d, H, 2)
    elif len(values) == 2 * H and all(value.size * H == d * d for value in values):
        each = [_oriented(value, d) for value in values]
        yield [np.stack(each[::2]), np.stack(each[1::2])]
        yield [np.stack(each[:H]), np.stack(each[H:])]


def _threes(values: list[np.ndarray], d: int, H: int) -> Iterator[list[np.ndarray]]:
    """Yield readings as three arrays (H, d, d_head), in storage order."""
    parts = [value.size / (d * d) for value in values]
    if sum(parts) == 3 and all(part in (1, 2, 3) for part in parts):  # each tensor holds one, two or all roles
        ways = [list(_whole(value, d, H, int(part))) for value, part in zip(values, parts, strict=True)]
        together = zip(*ways, strict=False) if len(set(parts)) == 1 else itertools.product(*ways)
        for chosen in together:
            yield [role for roles in chosen for role in roles]
        return
    if len(values) == 3:  # one small matrix shared by all heads, or full-width heads
        small = [_oriented(v, d) for v in values]
        repeated = [[np.repeat(v[None], H, 0)] if v.size * H == d * d else [] for v in small]
        full = [list(_heads(v, d, H)) if v.size == d * d else [] for v in values]
        for chosen in itertools.product(*(r or f for r, f in zip(repeated, full, strict=True))):
            yield list(chosen)
    each, rest = divmod(len(values), H)
    if rest or not 1 <= each <= 3:
        return
    by_head = [values[i * each : (i + 1) * each] for i in range(H)]
    by_role = [values[i::H] for i in range(H)]
    for heads in (by_head, by_role):  # each head has one to three tensors of its own
        options = [list(_one_head(head, d)) for head in heads]
        for chosen in zip(*options, strict=False):
            if (
                all(len(three) == 3 for three in chosen)
                and len({role.shape for three in chosen for role in three}) == 1
            ):
                yield [np.stack([three[i] for three in chosen]) for i in range(3)]


def _whole(value: np.ndarray, d: int, H: int, count: int) -> Iterator[list[np.ndarray]]:
    """Yield readings of a tensor with ``count`` roles for all heads as ``count`` arrays (H, d, d_head)."""
    if count == 1:
        yield from ([way] for way in _heads(value, d, H))
        return
    dh = d // H
    if value.ndim == 2 and sorted(value.shape) == sorted((d, count * d)):
        wide = value.T if value.shape == (count * d, d) else value  # (d, count d)
        for order in itertools.permutations((("r", count), ("h", H), ("k", dh))):
            parted = wide.reshape(d, *(size for _, size in order))
            yield list(np.einsum(f"d{''.join(letter for letter, _ in order)}->rhdk", parted))
    if value.ndim == 3 and sorted(value.shape) == sorted((H, d, count * dh)):
        for axes in itertools.permutations(range(3)):
            turned = value.transpose(axes)
            if turned.shape == (H, d, count * dh):
                yield list(turned.reshape(H, d, count, dh).transpose(2, 0, 1, 3))
                yield list(turned.reshape(H, d, dh, count).transpose(3, 0, 1, 2))
    for axis, size in enumerate(value.shape):
        if size == count and value.ndim >= 3:
            parts = [list(_heads(np.take(value, i, axis), d, H)) for i in range(count)]
            yield from ([*ways] for ways in zip(*parts, strict=False))


def _one_head(values: list[np.ndarray], d: int) -> Iterator[list[np.ndarray]]:
    """Yield readings of one head's tensors as arrays (d, d_head), three if they hold all its roles."""
    total = sum(value.size for value in values)
    dh, rest = divmod(total, 3 * d)
    if rest or not dh:
        return
    if dh == d:  # full width: the shape doesn't tell the two sides apart
        yield from ([value.T for value in values], values) if all(v.shape == (d, d) for v in values) else ()
        return
    for joined in (True, False):
        found: list[np.ndarray] = []
        for value in values:
            count, rest = divmod(value.size, d * dh)
            if rest or not count:
                return
            if value.ndim == 2:
                wide = _oriented(value, d)  # (d, count d_head)
                split = wide.reshape(d, count, dh) if joined else wide.reshape(d, dh, count).swapaxes(1, 2)
                found += list(split.swapaxes(0, 1))
            else:
                axis = value.shape.index(count) if count in value.shape else 0
                found += [_oriented(np.take(value, i, axis), d) for i in range(value.shape[axis])]
        yield found


def _heads(value: np.ndarray, d: int, H: int) -> Iterator[np.ndarray]:
    """Yield readings of one role's tensor of d^2 entries as (H, d, d_head)."""
    dh = d // H
    if value.shape == (d, d):
        for wide in (value.T, value):  # nn.Linear stores (out, in)
            yield wide.reshape(d, H, dh).transpose(1, 0, 2)
            if min(H, dh) > 1:  # otherwise the same reading again
                yield wide.reshape(d, dh, H).transpose(2, 0, 1)
    elif value.ndim == 3 and sorted(value.shape) == sorted((H, d, dh)):
        for axes in itertools.permutations(range(3)):
            if value.transpose(axes).shape == (H, d, dh):
                yield value.transpose(axes)


def _outputs(out: Tensors, d: int, H: int) -> Iterator[np.ndarray]:
    """Yield readings of the output projection as (H, d_head, d)."""
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
        for turned in _heads(values[0].T if values[0].ndim == 2 else values[0], d, H):
            yield turned.transpose(0, 2, 1)


def _oriented(value: np.ndarray, d: int) -> np.ndarray:
    """Transpose a matrix with a side of d so that this side comes first."""
    return value.T if value.ndim == 2 and value.shape[0] != d else value


def _with_biases(reading: Layout, vectors: list[np.ndarray], d: int, H: int) -> Iterator[Layout]:
    """Yield the reading with the vectors as biases: of the projection only, or also of queries, keys and values."""
    dh = d // H
    if len(vectors) <= 1:
        yield reading | ({"o.bias": vectors[0]} if vectors and vectors[0].size == d else {})
        return
    flat = np.concatenate(vectors)
    if flat.size != 4 * d:
        return
    if len(vectors) == 2:  # one fused, one for the projection
        fused = max(vectors, key=len)
        threes = fused.reshape(3, H, dh)
        rest = min(vectors, key=len)
    elif len(vectors) == 4:
        threes, rest = np.stack(vectors[:3]).reshape(3, H, dh), vectors[3]
    else:
        threes, rest = np.stack(vectors[:-1]).reshape(H, 3, dh).swapaxes(0, 1), vectors[-1]
    for order in itertools.permutations(range(3)):
        biases = {f"{role}.bias": threes[i] for role, i in zip(ROLES, order, strict=True)}
        yield reading | biases | {"o.bias": rest}
