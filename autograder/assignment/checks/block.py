"""Block alone, with stubs (known linear maps) in place of its attention and its MLP."""

from __future__ import annotations

import numpy as np
import pytest

from autograder.assignment import mistakes
from autograder.assignment.measure import outputs
from autograder.assignment.measure.comparison import (
    ROUNDED,
    Comparison,
    compare_with_oracle,
    format_percent,
    raise_verdict,
    random_weights_for,
)
from autograder.assignment.measure.stubbed_class import (
    StubbedClass,
    build_with_stubs,
    find_wrong_arguments,
    stub_parts,
)
from autograder.assignment.mistakes import Effect, Mistake
from autograder.assignment.oracle.client import Oracle
from autograder.grading.verdict import Failed, Notes
from autograder.sandbox.remote.student_code import StudentCode

pytestmark = pytest.mark.needs("Block")

D, H = 24, 3
SIZES = {"d": D, "H": H, "T_max": outputs.T_MAX}
TRIAL = np.ones((1, 2, D), np.float32)
TINY = 1e-3  # size of nearly zero sublayers: exact zeros would give the check away


@pytest.mark.deducts
def test_composition(
    student: StudentCode,
    oracle: Oracle,
    deducted: set[Mistake],
    layouts: dict[str, Comparison],
    shapes: list[tuple[int, int]],
    rng: np.random.Generator,
    notes: Notes,
) -> None:
    """With stubs as sublayers, the block is x + attention(norm(x)), then x + MLP(norm(x))."""
    stubs = {name: rng.standard_normal((D, D)) / np.sqrt(D) for name in ("MultiHeadAttention", "MLP")}
    stubbed = build_with_stubs(student, "Block", SIZES, stubs, TRIAL)
    if not stubbed.used:
        student.release()  # the stubs
        try:
            _require_formula(student, oracle, *shapes[0], rng)
        except Failed:
            stubbed = build_with_stubs(student, "Block", SIZES, stubs, TRIAL)
            comparison = _compare_around_stubs(
                oracle, stubs, stubbed, shapes, rng
            )  # a sublayer may exist without being called
            if comparison.match is None:
                raise
        else:
            notes.remark("This block has no separate attention and MLP modules; its output is correct.")
            return
    else:
        comparison = _compare_around_stubs(oracle, stubs, stubbed, shapes, rng)
    deducted.update(comparison.mistakes)
    if stubbed.used:
        layouts["block"] = comparison
    raise_verdict(comparison, "the block", notes)
    if wrong := find_wrong_arguments(student, "Block", {"MultiHeadAttention": SIZES, "MLP": {"d": D}}, deducted):
        raise wrong


def test_residual_path(
    student: StudentCode,
    oracle: Oracle,
    deducted: set[Mistake],
    layouts: dict[str, Comparison],
    shapes: list[tuple[int, int]],
    rng: np.random.Generator,
) -> None:
    """The block is the identity when both sublayers return zero."""
    B, T = shapes[0]
    x = rng.standard_normal((B, T, D)).astype(np.float32)
    active = {name: rng.standard_normal((D, D)) / np.sqrt(D) for name in ("MultiHeadAttention", "MLP")}
    module, _ = stub_parts(student, "Block", SIZES, active, TRIAL)
    module.push(random_weights_for(module, rng))  # gains may start at zero
    if not np.abs(outputs.require_tensor(module(x), x.shape) - x).max() > 1e-3:
        raise Failed("The block returns x unchanged even if its attention and MLP return nonzero outputs.")
    tiny = {name: TINY * rng.standard_normal((D, D)) / np.sqrt(D) for name in active}
    module, used = stub_parts(student, "Block", SIZES, tiny, TRIAL)
    # All other weights are small too, so sublayers that are not separate modules are nearly zero as well.
    weights = random_weights_for(module, rng)
    module.push({name: (TINY * value).astype(np.float32) for name, value in weights.items()})
    out = outputs.require_tensor(module(x), x.shape)
    gap = float(np.abs(out - x).max())
    effect = Effect.CHANGES_RESIDUAL_STREAM
    causes = mistakes.filter_by_effect(effect, deducted)
    if not gap <= 20 * TINY:
        raise Failed(
            f"With an attention and an MLP that return almost zero, the block changes x by up to {gap:.2g}; it should "
            f"be almost the identity.",
            "" if causes else "Is each sublayer's output added to x, and only its input normalised?",
            causes,
        )
    if used and "block" in layouts:
        stubbed = build_with_stubs(student, "Block", SIZES, tiny, TRIAL)
        # Mistakes in the residual path show however small the sublayers' outputs are.
        now, reference = _compare_around_stubs(oracle, tiny, stubbed, shapes, rng), layouts["block"]
        if reference.match and (not now.match or mistakes.filter_by_effect(effect, now.mistakes ^ reference.mistakes)):
            raise Failed(
                f"When the sublayers' outputs are scaled by {TINY:g}, the block no longer computes the same function.",
                "" if causes else "Does forward depend on the size of the sublayers' outputs?",
                causes,
            )


def _compare_around_stubs(
    oracle: Oracle,
    stubs: dict[str, np.ndarray],
    stubbed: StubbedClass,
    shapes: list[tuple[int, int]],
    rng: np.random.Generator,
) -> Comparison:
    """Compare the block with the oracle, with stubs in place of its attention and its MLP."""
    return compare_with_oracle(
        oracle,
        "block",
        stubbed.build,
        [rng.standard_normal((*shape, D)) for shape in shapes],
        lambda out, x: outputs.require_tensor(out, x.shape),
        {"d": D},
        rng,
        {"attention": stubs["MultiHeadAttention"], "mlp": stubs["MLP"]},
    )


def _require_formula(student: StudentCode, oracle: Oracle, B: int, T: int, rng: np.random.Generator) -> None:
    """Compare a block in which no sublayer can be replaced; raise Failed if it differs from the formula.

    The matrices of one sublayer are zero while the other is compared with the oracle. All gains and biases are one, so
    it does not matter which is which. Known mistakes inside a sublayer are not held against the block.
    """
    module = student.build("Block", SIZES)
    outputs.require_affordable(module)
    matrices = {p.name: p for p in module.parameters if p.is_matrix}
    wide = {name for name, p in matrices.items() if 4 * D in p.shape}
    weights = {p.name: np.ones(p.shape, np.float32) for p in module.parameters}
    weights |= {name: rng.standard_normal(p.shape, np.float32) / np.float32(np.sqrt(D)) for name, p in matrices.items()}

    def with_only(names: set[str], x: np.ndarray) -> np.ndarray:
        module.push({name: w if name in names or name not in matrices else 0 * w for name, w in weights.items()})
        return outputs.require_tensor(module(x), x.shape).astype(np.float32)

    def flat(names: set[str]) -> bool:
        """Return whether all positions are equal: then x itself does not reach the output."""
        out = with_only(names, x)
        return bool(np.abs(out - out[:1, :1]).max() <= ROUNDED)

    x = rng.standard_normal((B, T, D)).astype(np.float32)
    sublayers = (("attention", set(matrices) - wide, {"bias": D}), ("mlp", wide, {"up": 4 * D, "down": D}))
    for component, names, biases in sublayers:
        # The zeroed sublayer still adds its bias of ones.
        cases = [(_normalise(given) + 1, with_only(names, given) - given - 1) for given in (x[:, :1], x)]
        own = {name: weights[name] for name in names} | {f"{n}.bias": np.ones(k, "f4") for n, k in biases.items()}
        found = oracle.identify(component, own, cases, {"d": D, "H": H}, {}, ROUNDED)
        if not found.matches:
            gap = "" if found.gap is None else f"; it is off by up to {format_percent(found.gap)}"
            silent = 1 if component == "attention" else 0
            without_residual = [(_normalise(given) + 1, with_only(names, given) - silent) for given in (x[:, :1], x)]
            causes = [mistakes.block.BLOCK_NO_RESIDUAL] if flat(set(matrices) - wide) and flat(wide) else []
            if oracle.identify(component, own, without_residual, {"d": D, "H": H}, {}, ROUNDED).matches:
                causes = [mistakes.block.BLOCK_NO_FIRST_RESIDUAL if silent else mistakes.block.BLOCK_NO_SECOND_RESIDUAL]
            raise Failed(
                f"With only the {component} active, what the block adds to x doesn't match the formula{gap}.",
                ""
                if causes
                else f"Does the {component} take the normalised stream as input, and add to the stream itself?",
                causes,
            )
    between = with_only(set(matrices) - wide, x) - 1
    gap = np.abs(with_only(set(matrices), x) - (with_only(wide, between) - 1)).max()
    if not gap <= ROUNDED * max(1.0, float(np.abs(between).max())):
        # Each zeroed sublayer still adds its bias of ones.
        parallel_gap = with_only(set(matrices) - wide, x) + with_only(wide, x) - x - 2 - with_only(set(matrices), x)
        causes = [mistakes.block.BLOCK_PARALLEL] if np.abs(parallel_gap).max() <= 10 * ROUNDED else []
        raise Failed(
            f"The block's output differs by {gap:.2g} from its attention followed by its MLP.",
            "" if causes else "Does the MLP take the stream after the attention's output has been added?",
            causes,
        )


def _normalise(x: np.ndarray) -> np.ndarray:
    centred = x - x.mean(-1, keepdims=True)
    return np.asarray(centred / np.sqrt((centred**2).mean(-1, keepdims=True) + 1e-5), np.float32)
