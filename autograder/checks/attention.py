"""MultiHeadAttention by itself: what it computes for given weights, how many heads, what each position reads."""

from __future__ import annotations

import contextlib
import itertools
import re
from collections.abc import Collection
from typing import Any

import numpy as np
import pytest

from autograder import raised
from autograder.checks import ladder, matching
from autograder.oracle import align, mistakes
from autograder.oracle.handle import Oracle
from autograder.oracle.mistakes import Mistake
from autograder.outcome import Failed, Notes
from autograder.sandbox.errors import Raised, StudentError
from autograder.sandbox.module import Module
from autograder.sandbox.student import Student

pytestmark = pytest.mark.needs("MultiHeadAttention")

D, H, T_MAX = 20, 4, 9  # with B=2 and T=7 no two sizes are alike, nor is one three, the number of roles
B, T = 2, 7
MORE = 5  # heads, each of width 4
WIDTH = D // H
# How many parameters there are beside the projection, where the heads cannot be compared with any.
FEW = {0: "heads_not_registered", 3 * WIDTH**2: "heads_small", 3 * H * WIDTH**2: "heads_small"}
BIG = 8  # inputs as large make scores that a fill of -20 does not drown
SMALL = 1e-5  # of the largest output: float32 rounding
SEPARATE = ("heads_wrong_number", "heads_shared", "heads_share_keys_values", "heads_full_size")


@pytest.fixture(scope="module")
def judged(student: Student, oracle: Oracle, shared_rng: np.random.Generator) -> matching.Judged:
    """The comparison at H heads; at T=1 first, where queries and keys do not matter."""
    return judge(student, oracle, H, shared_rng)


def test_shape(student: Student, rng: np.random.Generator) -> None:
    module = student.build("MultiHeadAttention", {"d": D, "H": H, "T_max": T_MAX})
    for batch, length in ((B, T), (1, 1), (3, T_MAX)):
        x = rng.standard_normal((batch, length, D)).astype(np.float32)
        try:
            output(module(x), x)
        except Raised as error:
            if cause := misfit(error, module, rng):
                raise Failed(raised.place(error), causes=[cause]) from None
            raise


@pytest.mark.charges
def test_formula(judged: matching.Judged, charged: set[str], layouts: dict[str, matching.Judged], notes: Notes) -> None:
    charged.update(judged.names)
    layouts["attention"] = judged
    charged.update({"dropout_in_eval"} if judged.noise else ())
    if judged.match is None and (name := FEW.get(judged.module.numel - D * D - D)):
        raise Failed(matching.differs(judged, "MultiHeadAttention"), causes=[mistakes.named(name)])
    matching.decide(judged, "MultiHeadAttention", notes, SEPARATE)


@pytest.mark.charges
def test_heads(
    student: Student,
    oracle: Oracle,
    judged: matching.Judged,
    layouts: dict[str, matching.Judged],
    rng: np.random.Generator,
    notes: Notes,
) -> None:
    if judged.match is None:
        raise Failed(
            f"Whether there are {H} separate heads cannot be seen while the values are not those of any known "
            f"attention: see the check of the formula."
        )
    wrong = [row for row in map(mistakes.named, judged.match.mistakes) if row.name in SEPARATE]
    if wrong:
        raise Failed(matching.differs(judged, "MultiHeadAttention"), causes=wrong)
    for heads in (1, MORE):
        other = judge(student, oracle, heads, rng, expected=judged.names)
        extra = set(other.match.mistakes) - set(judged.match.mistakes) if other.match else {"heads_wrong_number"}
        found = [row for row in map(mistakes.named, sorted(extra)) if row.name in SEPARATE]
        if found:
            layouts.pop("attention", None)  # with other numbers of heads it is not what it is with this one
            raise Failed(
                f"For H={heads} the output is not that of {heads} separate heads, each of width {D // heads}.",
                causes=found[:1],
            )
    notes.say(f"{H} heads are {H}, 1 is 1, and {MORE} are {MORE}, each with matrices of its own.")


def test_simplex(
    student: Student, judged: matching.Judged, charged: set[str], rng: np.random.Generator, notes: Notes
) -> None:
    steps = {row.step for row in map(mistakes.named, judged.match.mistakes)} if judged.match else {"softmax"}
    if steps & {"merge", "split"} and not steps & {"mask", "softmax"}:
        notes.say("The weights themselves sum to 1, as the comparison with the formula shows.")
        return
    module = student.build("MultiHeadAttention", {"d": D, "H": H, "T_max": T_MAX})
    weights = {name: value.astype(np.float32) for name, value in judged.weights.items()}
    # Where all positions hold the same, an average of them is the same again: then each row sums to 1.
    one = rng.standard_normal((B, 1, D)).astype(np.float32)
    alone = ladder.under(module, weights, one)
    repeated = ladder.tensor(module(np.repeat(one, T, 1)), (B, T, D))
    gap = np.abs(repeated - alone).max(-1) / max(1.0, float(np.abs(alone).max()))
    if not gap.max() <= 10 * SMALL:
        row, position = (int(i) for i in np.unravel_index(gap.argmax(), gap.shape))
        causes = matching.known(charged, matching.NO_AVERAGE)
        raise Failed(
            f"With the same vector at all {T} positions, the output at position {position} differs from that of one "
            f"position alone by {gap[row, position]:.2g}; it would not if its weights summed to 1.",
            "" if causes else "Is the softmax over the positions that are looked at, and is nothing changed after it?",
            causes,
        )
    matrix = read_out(student, judged)
    if matrix is not None:
        notes.show(attention=[[round(float(w), 4) for w in row] for row in matrix])
    notes.say("Each position reads with weights that sum to 1.")


def test_causal(
    student: Student, judged: matching.Judged, charged: set[str], rng: np.random.Generator, notes: Notes
) -> None:
    module = student.build("MultiHeadAttention", {"d": D, "H": H, "T_max": T_MAX})
    module.push({name: value.astype(np.float32) for name, value in judged.weights.items()})
    # Row 0 is as it was, row s is another one from position s on, and in the last row position 0 alone is another.
    x = np.repeat(rng.standard_normal((1, T, D)).astype(np.float32), T + 1, 0)
    for start in range(1, T):
        x[start, start:] = rng.standard_normal((T - start, D))
    x[T, 0] = rng.standard_normal(D)
    whole, *after = row_by_row(module, x)
    large, *large_after = row_by_row(module, BIG * x[:T])
    scale = max(1.0, float(np.abs(whole).max()))
    causes = matching.known(charged, matching.LEAK)
    for start in range(1, T):
        moved = np.abs(after[start - 1] - whole).max(-1) / scale
        if not moved[:start].max() <= SMALL:
            raise Failed(
                f"When the positions from {start} on changed, the output at position {int(moved[:start].argmax())} "
                f"moved by {moved[:start].max() * scale:.2g}.",
                "" if causes else "Are the scores of later positions set to -inf before the softmax?",
                causes,
            )
        leak = np.abs(large_after[start - 1] - large)[:start].max()
        if not leak <= SMALL * BIG * scale:
            raise Failed(
                f"When the positions from {start} on changed, an output before them moved by {leak:.2g}, for inputs "
                f"{BIG} times as large.",
                causes=causes or [mistakes.named("mask_weak")],
            )
        if not moved[start:].min() > SMALL:
            raise Failed(
                f"When the positions from {start} on changed, the output at position "
                f"{start + int(moved[start:].argmin())} stayed the same.",
                "Does each position read from itself?",
            )
    blind = matching.known(charged, matching.BLIND)
    moved = np.abs(after[-1] - whole).max(-1) / scale
    if not moved.min() > SMALL:
        raise Failed(
            f"When position 0 changed, the output at position {int(moved.argmin())} stayed the same.",
            "" if blind else "Should it not read from all positions up to its own?",
            blind,
        )
    notes.say("Each position reads from itself and all before it, and from none after it.")


# --- shared -----------------------------------------------------------------------------------------------------------


def judge(
    student: Student,
    oracle: Oracle,
    heads: int,
    rng: np.random.Generator,
    d: int = D,
    expected: Collection[str] | None = None,
) -> matching.Judged:
    """The comparison with the oracle for that number of heads."""
    sizes = {"d": d, "H": heads, "T_max": T_MAX}
    inputs = [rng.standard_normal((B, T, d)), rng.standard_normal((1, 1, d))]
    return matching.against_oracle(
        oracle,
        "attention",
        lambda double: student.build("MultiHeadAttention", sizes, double=double),
        inputs,
        output,
        {"d": d, "H": heads},
        rng,
        expected=expected,
    )


def row_by_row(module: Module, x: np.ndarray) -> np.ndarray:
    """(B, T, D) -> (B, T, D), each row as it comes out by itself: from one batch where that makes no difference."""
    with contextlib.suppress(Failed, StudentError):
        one = slice(len(x) // 2, len(x) // 2 + 1)  # with rows before and after it
        together, alone = output(module(x), x), output(module(x[one]), x[one])
        if np.allclose(together[one], alone, rtol=0, atol=SMALL * np.abs(alone).max()):
            return together
    return np.concatenate([output(module(row[None]), row[None]) for row in x])


def misfit(error: Raised, module: Module, rng: np.random.Generator) -> Mistake | None:
    """The mistake that an exception at (B, T, D) gives away by the sizes in its text."""
    text = error.remote.text
    if met := re.search(r"mat1 and mat2 .* \((\d+)x(\d+) and (\d+)x\d+\)", text):
        rows, given, taken = map(int, met.groups())
        if (given, taken) == (H * D, D) and module.numel > 4 * D * D + D:
            return mistakes.named("heads_full_size")
        if (rows, given) == (B * T * H, WIDTH):
            return mistakes.named("heads_side_by_side_in_time")
    met = re.search(r"size of tensor a \((\d+)\) must match .* b \((\d+)\)", text)
    if met and set(map(int, met.groups())) == {T_MAX, T}:
        with contextlib.suppress(StudentError, Failed):
            full = rng.standard_normal((B, T_MAX, D)).astype(np.float32)
            output(module(full), full)
            return mistakes.named("mask_not_cut")
    return None


EMPTY = {  # which positions are not finite, of T: what the mask and the softmax then leave
    (0,): "mask_strict",
    (T - 1,): "mask_inverted",
    tuple(range(T - 1)): "softmax_of_empty_columns",
    tuple(range(T)): "mask_all_nan",
}


def output(out: Any, x: np.ndarray) -> np.ndarray:
    """What came out for ``x``, as ``ladder.tensor`` wants it; where it is not finite, the positions tell why."""
    if isinstance(out, np.ndarray) and out.shape == x.shape and out.dtype.kind == "f" and not np.isfinite(out).all():
        bad = tuple(int(t) for t in np.flatnonzero(~np.isfinite(out).all((0, 2))))
        if x.shape[1] == T and bad in EMPTY:
            which = "every position" if len(bad) == T else f"position {', '.join(map(str, bad))}"
            raise Failed(f"For {T} positions the output at {which} is not finite.", causes=[mistakes.named(EMPTY[bad])])
    return ladder.tensor(out, x.shape)


def read_out(student: Student, judged: matching.Judged) -> np.ndarray | None:
    """(T, T) attention weights of the first head, read from outside; None where the weights cannot be told apart.

    Values and projection are set so that the output *is* the matrix: position s carries a 1 in feature s, the first
    head's values copy the features, and the projection hands them on.
    """
    match = judged.match
    if match is None or match.count != H or {"heads_full_size", "value_is_key", "value_is_query"} & judged.names:
        return None
    own = [p for p in judged.module.parameters if p.name in judged.weights]
    shapes = [(p.name, p.shape) for p in own]
    reading = next(itertools.islice(align.attention(shapes, D, H), match.reading, None))
    flat = np.concatenate([*(judged.weights[p.name].reshape(-1) for p in own), [0.0, 1.0]])
    length = D // H  # positions that fit into one head
    for role in {"v", "o"} & reading.keys():  # values may be the input itself
        flat[reading[role]] = 0.0
        flat[[reading[role][0, i, i] for i in range(length)]] = 1.0
    for name in ("v.bias", "o.bias"):
        if name in reading:
            flat[reading[name]] = 0.0
    # A new one: the length is another, and what an earlier call left in a module costs elsewhere.
    module = student.build("MultiHeadAttention", {"d": D, "H": H, "T_max": T_MAX})
    places = align.positions(shapes)
    module.push({name: flat[place].astype(np.float32) for name, place in places})
    x = np.random.default_rng(0).standard_normal((1, length, D)).astype(np.float32)
    x[0, :, :length] = np.eye(length)
    return ladder.tensor(module(x), x.shape)[0, :, :length]
