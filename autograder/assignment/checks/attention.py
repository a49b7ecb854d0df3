"""MultiHeadAttention alone: its output for given weights, the number of heads, what each position attends to."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Collection
from typing import Any

import numpy as np
import pytest

from autograder.assignment import mistakes
from autograder.assignment.measure import outputs
from autograder.assignment.measure.comparison import (
    Comparison,
    compare_with_oracle,
    describe_difference,
    raise_verdict,
    random_weights_for,
)
from autograder.assignment.mistakes import Effect, Mistake
from autograder.assignment.oracle import layouts
from autograder.assignment.oracle.client import Oracle
from autograder.grading import exceptions
from autograder.grading.report import NOT_FINITE
from autograder.grading.verdict import Failed, Notes
from autograder.sandbox.remote.errors import Raised, StudentError
from autograder.sandbox.remote.proxy import ModuleProxy
from autograder.sandbox.remote.student_code import StudentCode

pytestmark = pytest.mark.needs("MultiHeadAttention")

# sqrt(d_head), even rounded, differs from the root of any other size; int(sqrt(5)) would equal that of four heads.
D, H, T_MAX = 44, 4, outputs.T_MAX
MORE = 11  # heads, each of width 4
LONG = 50  # a length and T_max above d
WIDTH = D // H
# Parameters besides the projection, for heads that fit no known layout.
FEW = {
    0: mistakes.attention.HEADS_NOT_REGISTERED,
    3 * WIDTH**2: mistakes.attention.HEADS_SLICE_INPUT,
    3 * H * WIDTH**2: mistakes.attention.HEADS_SLICE_INPUT,
}
SMALL_SCALE = 0.2  # inputs this small don't saturate the softmax
# Inputs this large give scores that a fill of -20 doesn't mask; the first size with finite outputs is used, since a
# hand-written softmax may overflow.
BIG = (8, 4, 2)
SMALL = 1e-5  # relative to the largest output: float32 rounding
ALIKE = 1e-3  # difference between nearly equal positions: equal ones would give the check away
SEPARATE = (
    mistakes.attention.HEADS_WRONG_NUMBER,
    mistakes.attention.HEADS_SHARED,
    mistakes.attention.HEADS_SHARE_KEYS_VALUES,
    mistakes.attention.HEADS_FULL_WIDTH,
)

# These mix positions and heads, so that the sum shows only in the comparison with the formula.
SCRAMBLING = {mistakes.attention.MERGE_WITHOUT_TRANSPOSE, mistakes.attention.SPLIT_WITHOUT_TRANSPOSE}


@pytest.fixture(scope="module")
def attention_comparison(
    student: StudentCode, oracle: Oracle, shapes: list[tuple[int, int]], module_rng: np.random.Generator
) -> Comparison:
    """Compare with the oracle at H heads; T=1 comes first, since queries and keys don't matter there."""
    return compare_attention(student, oracle, H, shapes, module_rng)


def test_shape(student: StudentCode, shapes: list[tuple[int, int]], rng: np.random.Generator) -> None:
    """The output has the shape of the input, for any B and T up to T_max."""
    module, longer = (student.build("MultiHeadAttention", {"d": D, "H": H, "T_max": T}) for T in (T_MAX, LONG))
    for built in (module, longer):
        if outputs.find_unusable(built.pull()):  # the initial loss depends on these
            built.push(random_weights_for(built, rng))
    cases = [(module, batch, length) for batch, length in (*shapes, (1, 1), (3, T_MAX))]
    cases.append((longer, 1, LONG))
    for module, batch, length in cases:
        x = rng.standard_normal((batch, length, D)).astype(np.float32)
        try:
            require_output(module(x), x)
        except Raised as error:
            if cause := explain_sizes(error, module, batch, length, rng):
                raise Failed(exceptions.describe_exception(error), causes=[cause], error=error) from None
            raise


@pytest.mark.deducts
def test_formula(
    attention_comparison: Comparison,
    deducted: set[Mistake],
    layouts: dict[str, Comparison],
    notes: Notes,
) -> None:
    """With weights set by the grader, the output is that of the formula."""
    deducted.update(attention_comparison.mistakes)
    layouts["attention"] = attention_comparison
    deducted.update({mistakes.attention.DROPOUT_IN_EVAL} if attention_comparison.noise else ())
    if attention_comparison.match is None and (cause := FEW.get(attention_comparison.module.numel - D * D - D)):
        raise Failed(describe_difference(attention_comparison, "MultiHeadAttention"), causes=[cause])
    raise_verdict(attention_comparison, "MultiHeadAttention", notes, SEPARATE)


@pytest.mark.deducts
def test_heads(
    student: StudentCode,
    oracle: Oracle,
    attention_comparison: Comparison,
    layouts: dict[str, Comparison],
    shapes: list[tuple[int, int]],
    rng: np.random.Generator,
    notes: Notes,
) -> None:
    """The number of heads is H, and each head has its own weights."""
    if attention_comparison.match is None:
        raise Failed(
            f"The {H} heads can't be told apart while the output matches no known attention; fix the formula check "
            f"first."
        )
    if attention_comparison.initial_gap:
        raise Failed(
            "With the class's own initial weights, the output matches no known attention; fix the formula check first."
        )
    wrong = [row for row in attention_comparison.match.mistakes if row in SEPARATE]
    if wrong:
        raise Failed(describe_difference(attention_comparison, "MultiHeadAttention"), causes=wrong)
    for heads in (1, MORE):
        other = compare_attention(student, oracle, heads, shapes, rng, expected=attention_comparison.mistakes)
        if other.match is None:
            layouts.pop("attention", None)  # with another H, the class computes a different function
            raise Failed(
                f"For H={heads}, the output matches no known attention, although for H={H} it does.",
                "Does anything depend on the number of heads, or on their width?",
            )
        extra = other.mistakes - attention_comparison.mistakes
        found = sorted((row for row in extra if row in SEPARATE), key=lambda row: row.name)
        if found:
            layouts.pop("attention", None)  # with a different H, the class computes a different function
            raise Failed(
                f"For H={heads}, the output doesn't match the formula with d_head={D // heads}.",
                causes=found[:1],
            )
    notes.remark(f"1, {H} and {MORE} heads work, each head with its own weights.")


def test_rows_sum_to_one(
    student: StudentCode,
    attention_comparison: Comparison,
    deducted: set[Mistake],
    shapes: list[tuple[int, int]],
    rng: np.random.Generator,
    notes: Notes,
) -> None:
    """The attention weights of each position sum to 1."""
    scrambled = attention_comparison.mistakes & SCRAMBLING
    if scrambled and not mistakes.filter_by_effect(
        Effect.WEIGHTS_DO_NOT_SUM_TO_ONE, attention_comparison.mistakes - scrambled
    ):
        notes.remark("The attention weights sum to 1, as the comparison with the formula shows.")
        return
    if mistakes.filter_by_effect(Effect.DEFIES_CONSTANT_INPUT, attention_comparison.mistakes):
        notes.remark("The attention weights sum to 1 at all positions that attend to any.")
        return
    B, T = shapes[0]
    weights = {name: value.astype(np.float32) for name, value in attention_comparison.weights.items()}
    module, replica = build_twice(student)
    # If the weights sum to 1, an average of nearly equal vectors is nearly the same vector.
    x = draw_nearly_equal_rows(rng, B, T, D).astype(np.float32)
    single = outputs.output_under_weights(replica, weights, x[:, :1])
    module.push(weights)
    gap = np.abs(outputs.require_tensor(module(x), x.shape) - single).max(-1) / max(1.0, float(np.abs(single).max()))
    if not gap.max() <= 10 * ALIKE:
        row, position = (int(i) for i in np.unravel_index(gap.argmax(), gap.shape))
        causes = mistakes.filter_by_effect(Effect.WEIGHTS_DO_NOT_SUM_TO_ONE, deducted)
        raise Failed(
            f"With nearly the same vector at all {T} positions, the output at position {position} differs by "
            f"{gap[row, position]:.2g} from the output for one such vector alone. If the attention weights summed to "
            f"1, it wouldn't.",
            "" if causes else "Is the softmax over the key axis (dim=-1), and is its output used unchanged?",
            causes,
        )
    if mistakes.filter_by_effect(Effect.WEIGHTS_DO_NOT_SUM_TO_ONE, attention_comparison.mistakes):
        notes.remark("The sum is the same at every position, though not 1; the formula check deducts that.")
    matrix = read_attention_weights(student, attention_comparison)
    if matrix is not None:
        notes.record(attention=[[round(float(w), 4) for w in row] for row in matrix])


def test_causal(
    student: StudentCode,
    attention_comparison: Comparison,
    deducted: set[Mistake],
    shapes: list[tuple[int, int]],
    rng: np.random.Generator,
) -> None:
    """Each position attends to itself and all earlier positions, and to no later one."""
    T = shapes[1][1]
    weights = {name: value.astype(np.float32) for name, value in attention_comparison.weights.items()}
    module, replica = build_twice(student)
    # Row s - 1 changes from position s onward, and the last row at position 0 alone.
    x = rng.standard_normal((T, T, D)).astype(np.float32)
    changed = x.copy()
    for start in range(1, T):
        changed[start - 1, start:] = rng.standard_normal((T - start, D))
    changed[-1, 0] = rng.standard_normal(D)
    replica.push(weights)
    module.push(weights)
    before, after = output_by_row(replica, SMALL_SCALE * x), output_by_row(module, SMALL_SCALE * changed)
    for big in BIG:
        try:
            leaks = np.abs(output_by_row(module, big * changed) - output_by_row(replica, big * x)).max(-1)
        except Failed:
            if big == BIG[-1]:
                raise
            continue
        break
    change = np.abs(after - before).max(-1)
    scale = max(1.0, float(np.abs(before).max()))
    causes = mistakes.filter_by_effect(Effect.LEAKS_FUTURE, deducted)
    for start in range(1, T):
        early, late = change[start - 1, :start], change[start - 1, start:]
        if not early.max() <= SMALL * scale:
            raise Failed(
                f"Replacing x from position {start} onward changed the output at position {int(early.argmax())} by "
                f"{early.max():.2g}; it must not change.",
                "" if causes else "Are the attention scores of later positions set to -inf before the softmax?",
                causes,
            )
        leak = leaks[start - 1, :start].max()
        if not leak <= SMALL * big * scale:
            raise Failed(
                f"With inputs {big} times as large, replacing x from position {start} onward changed an earlier output "
                f"by {leak:.2g}; it must not change.",
                causes=causes or [mistakes.attention.MASK_WEAK],
            )
        if not late.min() > SMALL * scale:
            raise Failed(
                f"Replacing x from position {start} onward left the output at position {start + int(late.argmin())} "
                f"unchanged.",
                ""
                if (causes := mistakes.filter_by_effect(Effect.LOSES_PAST, deducted))
                else "Does it attend to itself?",
                causes,
            )
    causes = mistakes.filter_by_effect(Effect.LOSES_PAST, deducted)
    if not change[-1].min() > SMALL * scale:
        raise Failed(
            f"Replacing x at position 0 left the output at position {int(change[-1].argmin())} unchanged.",
            "" if causes else "Each position must attend to all positions up to its own.",
            causes,
        )


# --- shared -----------------------------------------------------------------------------------------------------------


def compare_attention(
    student: StudentCode,
    oracle: Oracle,
    heads: int,
    shapes: list[tuple[int, int]],
    rng: np.random.Generator,
    d: int = D,
    expected: Collection[Mistake] | None = None,
) -> Comparison:
    """Compare the class with the oracle for the given number of heads."""
    sizes = {"d": d, "H": heads, "T_max": T_MAX}
    inputs = [rng.standard_normal((*shape, d)) for shape in shapes]
    inputs += [draw_nearly_equal_rows(rng, *shapes[1], d), rng.standard_normal((1, 1, d))]
    return compare_with_oracle(
        oracle,
        "attention",
        lambda double: student.build("MultiHeadAttention", sizes, double=double),
        inputs,
        require_output,
        {"d": d, "H": heads},
        rng,
        expected=expected,
    )


def build_twice(student: StudentCode) -> tuple[ModuleProxy, ModuleProxy]:
    """Build the class here and in the replica, so that neither side can remember the other's calls."""
    sizes = {"d": D, "H": H, "T_max": T_MAX}
    return student.build("MultiHeadAttention", sizes), student.replica.build("MultiHeadAttention", sizes)


def draw_nearly_equal_rows(rng: np.random.Generator, B: int, T: int, d: int) -> np.ndarray:
    """Return (B, T, d) with nearly equal vectors at all positions of a row."""
    return rng.standard_normal((B, 1, d)) + ALIKE * rng.standard_normal((B, T, d))


def output_by_row(module: ModuleProxy, x: np.ndarray) -> np.ndarray:
    """Return the output (B, T, D) for each row alone, from one batch if that makes no difference."""
    with contextlib.suppress(Failed, StudentError):
        one = slice(len(x) // 2, len(x) // 2 + 1)  # a row with others before and after
        batched, single = require_output(module(x), x), require_output(module(x[one]), x[one])
        if np.allclose(batched[one], single, rtol=0, atol=SMALL * np.abs(single).max()):
            return batched
    return np.concatenate([require_output(module(row[None]), row[None]) for row in x])


def explain_sizes(error: Raised, module: ModuleProxy, B: int, T: int, rng: np.random.Generator) -> Mistake | None:
    """Name the mistake that the sizes in an exception at (B, T, D) reveal."""
    text = error.remote.text
    if met := re.search(r"mat1 and mat2 .* \((\d+)x(\d+) and (\d+)x\d+\)", text):
        rows, given, taken = map(int, met.groups())
        if (given, taken) == (H * D, D) and module.numel > 4 * D * D + D:
            return mistakes.attention.HEADS_FULL_WIDTH
        if (rows, given) == (B * T * H, WIDTH):
            return mistakes.attention.HEADS_CONCATENATED_IN_TIME
    met = re.search(r"size of tensor a \((\d+)\) must match .* b \((\d+)\)", text)
    if met and T < T_MAX and set(map(int, met.groups())) == {T_MAX, T}:
        with contextlib.suppress(StudentError, Failed):
            full = rng.standard_normal((B, T_MAX, D)).astype(np.float32)
            require_output(module(full), full)
            return mistakes.attention.MASK_NOT_SLICED
    return None


def require_output(out: Any, x: np.ndarray) -> np.ndarray:
    """Return the output for ``x`` if it is valid; otherwise raise Failed, with the mask mistake that NaNs reveal."""
    if isinstance(out, np.ndarray) and out.shape == x.shape and out.dtype.kind == "f" and not np.isfinite(out).all():
        T = x.shape[1]
        bad = tuple(int(t) for t in np.flatnonzero(~np.isfinite(out).all((0, 2))))
        left_empty = {  # positions whose keys are all masked
            (0,): mistakes.attention.MASK_EXCLUDES_SELF,
            (T - 1,): mistakes.attention.MASK_INVERTED,
            tuple(range(T - 1)): mistakes.attention.SOFTMAX_OVER_MASKED_SLICES,
            tuple(range(T)): mistakes.attention.MASK_ALL_NAN,
        }
        if T > 1 and bad in left_empty:
            which = "every position" if len(bad) == T else f"position {', '.join(map(str, bad))}"
            measured = f"For T={T}, the output at {which} is not finite."
            raise Failed(measured, causes=[left_empty[bad]], symptom=NOT_FINITE)
    return outputs.require_tensor(out, x.shape)


def read_attention_weights(student: StudentCode, attention_comparison: Comparison) -> np.ndarray | None:
    """Return the first head's attention weights (T, T), read from the output; None if the layout is unknown.

    Values and projection are set so that the output *is* the matrix: position s has a 1 in feature s, the first head's
    values copy the features, and the projection copies the values.
    """
    match = attention_comparison.match
    if (
        match is None
        or match.count != H
        or {mistakes.attention.HEADS_FULL_WIDTH, mistakes.attention.VALUE_IS_KEY, mistakes.attention.VALUE_IS_QUERY}
        & attention_comparison.mistakes
    ):
        return None
    own = [p for p in attention_comparison.module.parameters if p.name in attention_comparison.weights]
    shapes = [(p.name, p.shape) for p in own]
    layout = layouts.build_layout(match.layout, shapes, {"d": D, "H": H})
    assert layout is not None
    flat = np.concatenate([*(attention_comparison.weights[p.name].reshape(-1) for p in own), [0.0, 1.0]])
    length = D // H  # positions, few enough to fit into one head
    for role in {"v", "o"} & layout.keys():  # the input itself may serve as values
        flat[layout[role]] = 0.0
        flat[[layout[role][0, i, i] for i in range(length)]] = 1.0
    for name in ("v.bias", "o.bias"):
        if name in layout:
            flat[layout[name]] = 0.0
    # Build a new module, since other checks test state left by earlier calls.
    module = student.build("MultiHeadAttention", {"d": D, "H": H, "T_max": T_MAX})
    places = layouts.number_entries(shapes)
    module.push({name: flat[place].astype(np.float32) for name, place in places})
    x = np.random.default_rng(0).standard_normal((1, length, D)).astype(np.float32)
    x[0, :, :length] = np.eye(length)
    return outputs.require_tensor(module(x), x.shape)[0, :, :length]
