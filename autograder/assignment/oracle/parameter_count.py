"""Count parameters by part, and write a difference as a formula. Exact integers, no torch."""

from __future__ import annotations

import itertools
import math
import re
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from autograder.assignment.sizes import Dims

PARTS = ("embeddings", "attention", "mlp", "block_norms", "final")


def parts(V: int, T_max: int, d: int, L: int) -> dict[str, int]:
    """Count the untied model's parameters by part, in the order of PARTS; H does not matter."""
    return {
        "embeddings": (V + T_max) * d,
        "attention": L * (4 * d * d + d),  # q, k, v have no bias, the output projection has one
        "mlp": L * (8 * d * d + 5 * d),  # up and down, with biases 4d and d
        "block_norms": L * 4 * d,  # two LayerNorms, gain and bias each
        "final": 2 * d + V * d,  # final LayerNorm, unembedding without bias
    }


def total(dims: Dims) -> int:
    """Count all parameters of the untied model."""
    return sum(parts(dims.V, dims.T_max, dims.d, dims.L).values())


def rule_of_thumb(dims: Dims) -> tuple[int, int, int]:
    """Return 12 L d^2, the parameters of the blocks, and the difference: biases and norms (10 d L)."""
    counted = parts(dims.V, dims.T_max, dims.d, dims.L)
    blocks = counted["attention"] + counted["mlp"] + counted["block_norms"]
    rule = 12 * dims.L * dims.d**2
    return rule, blocks, blocks - rule


# --- a difference as a formula ----------------------------------------------------------------------------------------

TERMS: dict[str, Callable[[Dims], int]] = {
    "1": lambda n: 1,
    "d": lambda n: n.d,
    "V": lambda n: n.V,
    "L": lambda n: n.L,
    "H": lambda n: n.H,
    "T_max": lambda n: n.T_max,
    "dL": lambda n: n.d * n.L,
    "HL": lambda n: n.H * n.L,
    "Vd": lambda n: n.V * n.d,
    "T_max d": lambda n: n.T_max * n.d,
    "d^2": lambda n: n.d**2,
    "d^2 L": lambda n: n.d**2 * n.L,
    "d^2 L/H": lambda n: n.d * (n.d // n.H) * n.L,
    "d^2 LH": lambda n: n.d**2 * n.L * n.H,
    "T_max^2 L": lambda n: n.T_max**2 * n.L,
    "T_max^2 LH": lambda n: n.T_max**2 * n.L * n.H,
    "(8d^2 + 5d)": lambda n: 8 * n.d**2 + 5 * n.d,
    "(8d^2 + 5d)L": lambda n: (8 * n.d**2 + 5 * n.d) * n.L,
    "(12d^2 + 10d)": lambda n: 12 * n.d**2 + 10 * n.d,
    "(12d^2 + 10d)L": lambda n: (12 * n.d**2 + 10 * n.d) * n.L,
}
MAX_FACTOR = 64  # the largest factor of a term


def as_formula(deltas: Sequence[tuple[Dims, int]]) -> str:
    """Find one or two terms that equal these differences at all these sizes; "" if none do."""
    sizes = [dims for dims, _ in deltas]
    differences = [delta for _, delta in deltas]
    columns = {name: [term(dims) for dims in sizes] for name, term in TERMS.items()}
    if not any(differences):
        return ""
    for name, column in columns.items():
        factor = differences[0] // column[0]
        if [factor * value for value in column] == differences and abs(factor) <= MAX_FACTOR:
            return _format_term(factor, name)
    for (one, a), (two, b) in itertools.combinations(columns.items(), 2):
        determinant = a[0] * b[1] - a[1] * b[0]
        if determinant:
            x, y = differences[0] * b[1] - differences[1] * b[0], a[0] * differences[1] - a[1] * differences[0]
            if not x % determinant and not y % determinant:
                x, y = x // determinant, y // determinant
                fits = all(x * p + y * q == delta for p, q, delta in zip(a, b, differences, strict=True))
                if fits and max(abs(x), abs(y)) <= MAX_FACTOR:
                    larger_first = sorted([(x, one, x * a[0]), (y, two, y * b[0])], key=lambda term: -abs(term[2]))
                    return _format_sum(*larger_first[0][:2], *larger_first[1][:2])
    return ""


def _format_term(factor: int, name: str) -> str:
    sign, size = "+" if factor > 0 else "-", abs(factor)
    if name == "1":
        return f"{sign}{size}"
    return f"{sign}{size if size > 1 else ''}{' ' * (size > 1 and name[0] == 'T')}{name}"


def _format_sum(x: int, one: str, y: int, two: str) -> str:
    if x == -y and one == f"{two}L":
        return f"{_format_term(x, two)}(L - 1)"
    second = _format_term(y, two)
    return f"{_format_term(x, one)} {second[0]} {second[1:]}"


# --- a student's counts -----------------------------------------------------------------------------------------------

OUTSIDE = "outside the blocks"
Shapes = list[tuple[str, tuple[int, ...]]]


@dataclass(frozen=True)
class ParameterCounts:
    """The parameters of a student's model at one size: counts by part and in one block, and the tensors.

    The parts are "attention", "mlp" and "block_norms", summed over L blocks, and OUTSIDE for the rest of the model.
    ``inline`` are the classes that Block doesn't use, so that its norms can't be told from the rest of it.
    """

    dims: Dims
    parts: dict[str, int]
    block: int
    tensors: dict[str, Shapes]  # the tensors of one block's parts, and OUTSIDE
    inline: tuple[str, ...] = ()

    def delta(self, part: str) -> int:
        """Return a part's count minus the correct one."""
        return self.parts[part] - expected_counts(self.dims)[part]

    def matrix_shapes(self, part: str) -> list[tuple[int, ...]]:
        """Return the shapes of a part's tensors that are not vectors."""
        return [shape for _, shape in self.tensors[part] if len(shape) > 1]

    def norm_names(self) -> set[str]:
        """Return the names of the norms that hold a block's vectors."""
        return {name.rpartition(".")[0] for name, _ in self.tensors["block_norms"]}

    def has_name(self, part: str, word: str) -> bool:
        """Return whether a tensor of the part has ``word`` in its name."""
        return any(word in name for name, _ in self.tensors[part])

    def has_table(self, rows: int) -> bool:
        """Return whether GPT itself has a table of width d with that many rows."""
        return any(rows in shape and self.dims.d in shape for shape in self.matrix_shapes(OUTSIDE))


def expected_counts(n: Dims) -> dict[str, int]:
    """Count the correct model's parameters in each part of ``ParameterCounts``."""
    own = parts(n.V, n.T_max, n.d, n.L)
    inside = {name: own[name] for name in ("attention", "mlp", "block_norms")}
    return inside | {OUTSIDE: own["embeddings"] + own["final"]}


# --- tensors beyond the formula, or missing ---------------------------------------------------------------------------

OWNERS = {"attention": "Each attention", "mlp": "Each MLP", "block_norms": "Each block", OUTSIDE: "GPT"}
SHOWN = 4  # names of tensors


def formula_shapes(n: Dims, part: str) -> list[tuple[int, ...]]:
    """Return the shapes of one ``part`` in the formula, up to the order of a matrix's axes."""
    d = n.d
    shapes: dict[str, list[tuple[int, ...]]] = {
        "attention": [(d, d)] * 4 + [(d,)],
        "mlp": [(4 * d, d)] * 2 + [(4 * d,), (d,)],
        "block_norms": [(d,)] * 4,
        OUTSIDE: [(n.V, d)] * 2 + [(n.T_max, d)] + [(d,)] * 2,
    }
    return shapes[part]


def describe_difference(c: ParameterCounts, part: str) -> str:
    """Say which tensors of ``part``, by name and shape, differ from the formula's; "" if none do."""
    parts = (part, *(c.inline if part == "block_norms" else ()))
    expected = [shape for own in parts for shape in formula_shapes(c.dims, own)]
    right = Counter(shape for shape in expected if len(shape) < 2)
    found = Counter(shape for _, shape in c.tensors[part] if len(shape) < 2)
    differences = []
    for shape in sorted(found | right, reverse=True):
        if found[shape] != right[shape]:
            number = f"{found[shape] or 'no'} tensor{'s' * (found[shape] > 1)} of shape {shape}"
            owned = [tensor for tensor in c.tensors[part] if tensor[1] == shape]
            differences.append(_with_names(f"{number}, but should have {right[shape]}", owned))
    matrices = [tensor for tensor in c.tensors[part] if len(tensor[1]) > 1]
    right_entries = sum(math.prod(shape) for shape in expected if len(shape) > 1)
    if (entries := sum(math.prod(shape) for _, shape in matrices)) != right_entries:
        missing, extra = Counter(tuple(sorted(shape)) for shape in expected if len(shape) > 1), []
        for name, shape in matrices:
            if missing[key := tuple(sorted(shape))]:
                missing[key] -= 1
            else:
                extra.append((name, shape))
        # With other shapes than the formula's, such as one matrix per head, only the sum can be compared.
        named = extra if not missing.total() else matrices
        differences.append(_with_names(f"matrices with {entries:,} entries, but should have {right_entries:,}", named))
    return f"{OWNERS[part]} has {'; it has '.join(differences)}." if differences else ""


def _with_names(measured: str, tensors: Shapes) -> str:
    """Append names, and shapes of matrices; tensors whose names differ only by a number are listed once."""
    names = [f"{re.sub('[0-9]+', '*', name)}{f' {shape}' if len(shape) > 1 else ''}" for name, shape in tensors]
    names = list(dict.fromkeys(names))
    return measured + (f": {', '.join(names[:SHOWN])}" if names else "") + (", ..." if len(names) > SHOWN else "")
