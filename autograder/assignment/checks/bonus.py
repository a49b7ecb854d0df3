"""Going further: tied weights, all heads in one tensor, QK and OV products. These checks only add points."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from autograder.assignment import mistakes
from autograder.assignment.checks import attention
from autograder.assignment.measure import outputs
from autograder.assignment.measure.comparison import ROUNDED
from autograder.assignment.measure.initialisation import ABOVE, BATCH, BELOW
from autograder.assignment.measure.numeric import softmax, uniform_cross_entropy
from autograder.assignment.mistakes import Effect, Mistake
from autograder.assignment.oracle import layouts, parameter_count
from autograder.assignment.oracle.client import Oracle
from autograder.assignment.sizes import Dims, Sizes
from autograder.grading.verdict import Failed, Notes
from autograder.sandbox.remote.errors import NotDefined, StudentError
from autograder.sandbox.remote.proxy import ModuleProxy
from autograder.sandbox.remote.replies import MAX_NUMBER
from autograder.sandbox.remote.student_code import StudentCode

CLOSE = 1e-4  # float32, entries of order 1
Pair = tuple[np.ndarray, np.ndarray]
Row = tuple[slice | int, ...]  # the index of a row, along any axis
ROWS = 2  # rows of T_max tokens, as input to a tied model
CLOSE_TO_1 = 0.05  # a standard deviation of 65 x 128 entries


@pytest.mark.needs("GPT")
def test_weight_tying(
    student_about_gpt: StudentCode, sizes: Sizes, deducted: set[Mistake], rng: np.random.Generator, notes: Notes
) -> None:
    """With tie_weights=True, one table embeds tokens and gives the logits, and the initial loss stays near ln V."""
    n = sizes.course
    table = n.V * n.d
    if not student_about_gpt.accepts("GPT", "tie_weights"):
        raise NotDefined("GPT", "GPT", "GPT has no argument tie_weights")
    model = student_about_gpt.build("GPT", {**n.arguments(), "tie_weights": True}, seed=int(rng.integers(1 << 31)))
    untied = student_about_gpt.shared("GPT", n.arguments()).numel
    if model.numel == untied != parameter_count.total(n) - table:  # a GPT that is always tied passes too
        matrices = [value for value in model.pull().values() if value.shape in ((n.V, n.d), (n.d, n.V))]
        upright = [matrix if matrix.shape == (n.V, n.d) else matrix.T for matrix in matrices]
        if len(upright) == 2 and np.array_equal(upright[0], upright[1]):
            raise Failed(
                f"With tie_weights=True, there are still {untied:,} parameters; tying removes V * d of them.",
                causes=[mistakes.bonus.TIED_BY_COPY],
            )
        raise NotDefined("GPT", "GPT", f"tie_weights=True changes nothing yet: {untied:,} parameters as before")
    if model.numel not in (untied - table, parameter_count.total(n) - table):
        raise Failed(
            f"With tie_weights=True, there are {model.numel:,} parameters; there should be {untied - table:,}: "
            f"{untied:,} minus one V x d matrix."
        )
    _require_shared_table(student_about_gpt, sizes.small, deducted, rng)
    idx = rng.integers(0, n.V, (BATCH, n.T_max))
    with outputs.blaming_initial_weights(model):
        logits = outputs.require_logits(model(idx), (BATCH, n.T_max, n.V))
    loss = float(uniform_cross_entropy(logits).mean())
    chance = math.log(n.V)
    if not chance - BELOW <= loss <= chance + ABOVE:
        deviations = [float(value.std()) for value in model.pull().values() if value.shape in ((n.V, n.d), (n.d, n.V))]
        wide = [mistakes.bonus.TIED_INIT_STD] if any(abs(std - 1) < CLOSE_TO_1 for std in deviations) else []
        raise Failed(
            f"With tied weights, the initial loss is {loss:.2f}; it should be just above ln {n.V} = {chance:.3f}.",
            "" if wide else "Which initialisation suits both uses of the matrix?",
            wide,
        )
    notes.remark(f"{model.numel:,} parameters, initial loss {loss:.2f}.")


@pytest.mark.needs("BatchedMultiHeadAttention")
def test_batched_heads(
    student: StudentCode, sizes: Sizes, oracle: Oracle, rng: np.random.Generator, notes: Notes
) -> None:
    """With the same weights, the batched attention equals the loop over heads."""
    n, (B, T) = sizes.small, (2, 7)
    batched = student.build("BatchedMultiHeadAttention", {"d": n.d, "H": n.H, "T_max": n.T_max})
    shapes = {p.name: p.shape for p in batched.parameters}
    square = (n.d, n.d)
    wanted = {f"{name}.weight": square for name in ("query", "key", "value", "proj")} | {"proj.bias": (n.d,)}
    if shapes != wanted:
        given = ", ".join(f"{name} {shape}" for name, shape in shapes.items()) or "none"
        raise Failed(
            f"The parameters are {given}.",
            "Use the docstring's names: query, key and value without bias, and proj.",
        )
    weights = {name: (rng.standard_normal(shape) / math.sqrt(n.d)).astype(np.float32) for name, shape in shapes.items()}
    batched.push(weights)
    x = rng.standard_normal((B, T, n.d)).astype(np.float32)
    got = outputs.require_tensor(batched(x), x.shape)
    right = oracle.attention(as_heads(weights, n), x)
    if not np.abs(got - right).max() <= CLOSE:
        tensors = {name: weights[name] for name in wanted}
        cases = [(x, got), (x[:, :1], outputs.require_tensor(batched(x[:, :1]), x[:, :1].shape))]
        found = oracle.identify("attention", tensors, cases, {"d": n.d, "H": n.H}, {}, ROUNDED, max_layouts=1)
        causes = [row for match in found.matches for row in match.mistakes]
        raise Failed(
            f"With the same weights, the output differs from that of the loop over heads by up to "
            f"{np.abs(got - right).max():.2g}.",
            "" if causes else "Is d split into H and d_head in that order, then transposed, and merged the same way?",
            causes,
            either=len(found.matches) > 1,
        )
    notes.remark("Matches the loop over heads with the same weights.")


@pytest.mark.needs("qk_ov", "MultiHeadAttention")
def test_qk_ov(
    student: StudentCode,
    sizes: Sizes,
    oracle: Oracle,
    deducted: set[Mistake],
    shapes: list[tuple[int, int]],
    rng: np.random.Generator,
    notes: Notes,
) -> None:
    """The QK and OV products reproduce the attention's output, each with rank at most d/H."""
    n, (B, T) = sizes.small, (2, 7)
    module = student.build("MultiHeadAttention", {"d": n.d, "H": n.H, "T_max": n.T_max})
    weights = outputs.random_weights(module, rng)
    module.push(weights)
    x = rng.standard_normal((B, T, n.d)).astype(np.float32)
    out = outputs.require_tensor(module(x), x.shape).astype(np.float64)
    pairs = [_require_pair(pair, n.d) for pair in _require_pairs(student.function("qk_ov", module), n.H)]
    rank = max(int(np.linalg.matrix_rank(product, tol=1e-3)) for pair in pairs for product in pair)
    # The products belong to this module if they alone reproduce its output, up to the bias of the projection.
    scale = float(np.abs(out).max())
    own = (
        []
        if _distance(out, x, pairs, n) <= 1e-3 * scale
        else _products_of_weights(student, oracle, n, weights, deducted, shapes, rng)
    )
    if not _distance(out, x, pairs, n) <= 1e-3 * scale and not any(_are_equal(pairs, right) for right in own[:1]):
        negated = ((True, False), (False, True), (True, True))
        known = {
            mistakes.bonus.PRODUCTS_TRANSPOSED: any(
                _distance(out, x, [(a.T if qk else a, b.T if ov else b) for a, b in pairs], n) <= 1e-3 * scale
                for qk, ov in negated
            ),
            mistakes.bonus.PRODUCTS_PROJ_TRANSPOSED: any(_are_equal(pairs, wrong) for wrong in own[1:]),
        }
        causes = [row for row, fits in known.items() if fits]
        raise Failed(
            f"Attention computed from your {len(pairs)} pairs of products differs from MultiHeadAttention's output by "
            f"up to {_distance(out, x, pairs, n):.2g}; the largest entry of that output is {scale:.2g}.",
            "" if causes else "Does OV use the head's own rows of the output projection, and is QK unscaled?",
            causes,
        )
    if rank > n.d // n.H:
        raise Failed(f"One product has rank {rank}; it should be at most d/H = {n.d}/{n.H} = {n.d // n.H}.")
    notes.remark(f"The products reproduce the attention, each with rank at most d/H = {n.d}/{n.H} = {n.d // n.H}.")


# --- shared -----------------------------------------------------------------------------------------------------------


def _require_shared_table(student: StudentCode, n: Dims, deducted: set[Mistake], rng: np.random.Generator) -> None:
    """Raise Failed unless a tied GPT uses one table as unembedding and as token embedding.

    The row of a token that is not in the input changes that token's logit, differently at each position, and no
    other logit; the row of a token in the input changes other logits too. The two sides run in different processes.
    """
    arguments = {**n.arguments(), "tie_weights": True}
    model, replica = student.build("GPT", arguments), student.replica.build("GPT", arguments)
    weights = outputs.random_weights(model, rng)
    absent = int(rng.integers(n.V))
    idx, targets = (tokens + (tokens >= absent) for tokens in rng.integers(0, n.V - 1, (2, ROWS, n.T_max)))
    model.push(weights)
    before = outputs.require_logits(model(idx), (ROWS, n.T_max, n.V)).astype(np.float64)

    def change_of_logits(token: int, name: str, row: Row) -> tuple[np.ndarray, np.ndarray]:
        """Measure how much a token's own logit and all others change when its row is negated, relative to the largest.

        A shift of all logits does not count, so log probabilities may be returned as logits.
        """
        negated = weights[name].copy()
        negated[row] *= -1
        replica.push(weights | {name: negated})
        change = outputs.require_logits(replica(idx), before.shape) - before
        gap = np.abs(change - np.median(change, -1, keepdims=True)) / max(1.0, float(np.abs(before).max()))
        return gap[..., token], np.delete(gap, token, -1)

    for name, row in _candidate_rows(model, n, absent):
        own, others = change_of_logits(absent, name, row)
        if others.max() <= CLOSE and own.min() > 0 and own.std() > CLOSE:
            break
    else:
        raise Failed(
            f"With tie_weights=True, negating row {absent} of the V x d matrix should change only the logit of token "
            f"{absent}; it doesn't.",
            "Are the logits the product of the final LayerNorm's output and that table?",
        )
    present = int(idx[0, 0])
    looked_up = any(
        change_of_logits(present, *place)[1].max() > CLOSE
        for place in _candidate_rows(model, n, present)
        if place[0] == name
    )
    if not looked_up and not mistakes.filter_by_effect(Effect.LOSES_PAST, deducted):
        raise Failed(
            f"With tie_weights=True, negating the unembedding's row of input token {present} changes no other logit: "
            f"tokens are embedded with a different table."
        )
    with contextlib.suppress(StudentError):  # a loss that raises is judged by its own check
        gradients = model.gradients(idx, targets)
        reached = any(gradient.any() for gradient in gradients.values())  # a detached loss is judged by its own check
        if reached and (name not in gradients or not gradients[name][row].any()):
            raise Failed(
                f"With tie_weights=True, the row of token {absent}, which is not in the input, gets no gradient from "
                f"the unembedding.",
                "Does forward use a copy of the table?",
            )


def _candidate_rows(model: ModuleProxy, n: Dims, token: int) -> Iterator[tuple[str, Row]]:
    """Yield the possible locations of a token's vector: in a token table, or in one shared by tokens and positions."""
    for p in model.parameters:
        for axis, size in enumerate(p.shape):
            if p.grad and size in (n.V, n.V + n.T_max) and p.size == size * n.d:
                for start in sorted({0, size - n.V}):
                    yield p.name, (*[slice(None)] * axis, start + token)


def as_heads(weights: dict[str, np.ndarray], n: Dims) -> dict[str, np.ndarray]:
    """Split nn.Linear's weights (d, d), heads stacked along the output axis, into the oracle's (H, d, d_head)."""
    heads = {
        name: weights[f"{name}.weight"].T.reshape(n.d, n.H, -1).swapaxes(0, 1) for name in ("query", "key", "value")
    }
    o = weights["proj.weight"].T.reshape(n.H, -1, n.d)
    return {"q": heads["query"], "k": heads["key"], "v": heads["value"], "o": o, "o.bias": weights["proj.bias"]}


def _require_pairs(got: Any, H: int) -> list[Any]:
    if not isinstance(got, (list, tuple)) or len(got) != H:
        raise Failed(f"qk_ov didn't return a list of {H} pairs, one per head.")
    return list(got)


def _require_pair(pair: Any, d: int) -> tuple[np.ndarray, np.ndarray]:
    if not isinstance(pair, (list, tuple)) or [getattr(m, "shape", None) for m in pair] != [(d, d)] * 2:
        raise Failed(f"An entry of qk_ov is not a pair of matrices of shape ({d}, {d}).")
    if not all((np.abs(matrix) <= MAX_NUMBER).all() for matrix in pair):
        raise Failed("An entry of qk_ov has values that are not finite, or far too large.")
    return pair[0].astype(np.float64), pair[1].astype(np.float64)


def _products_of_weights(
    student: StudentCode,
    oracle: Oracle,
    n: Dims,
    weights: dict[str, np.ndarray],
    deducted: set[Mistake],
    shapes: list[tuple[int, int]],
    rng: np.random.Generator,
) -> list[list[Pair]]:
    """Return the products of the module's weights, then those with the output projection transposed.

    The result is empty if the layout is unknown. The module's own check deducts its mistakes.
    """
    comparison = attention.compare_attention(student, oracle, n.H, shapes, rng, n.d, expected=deducted)
    if comparison.match is None or comparison.match.count != n.H:
        return []
    tensors = [(p.name, p.shape) for p in comparison.module.parameters if p.name in comparison.weights]
    layout = layouts.build_layout(comparison.match.layout, tensors, {"d": n.d, "H": n.H})
    if layout is None or not set(layouts.ROLES) <= layout.keys() or not all(name in weights for name, _ in tensors):
        return []
    flat = np.concatenate([*(weights[name].reshape(-1) for name, _ in tensors), [0.0, 1.0]])
    q, k, v, o = (flat[layout[role]] for role in ("q", "k", "v", "o"))
    sides = [o, o.reshape(-1, n.d).T.reshape(o.shape)] if o.size == n.d * n.d else [o]
    return [[(q[h] @ k[h].T, v[h] @ side[h]) for h in range(n.H)] for side in sides]


def _are_equal(pairs: list[Pair], others: list[Pair]) -> bool:
    return all(
        np.abs(got - right).max() <= 1e-3 * max(1.0, np.abs(right).max())
        for mine, theirs in zip(others, pairs, strict=True)
        for right, got in zip(mine, theirs, strict=True)
    )


def _distance(out: np.ndarray, x: np.ndarray, pairs: list[tuple[np.ndarray, np.ndarray]], n: Dims) -> float:
    """Return how far ``out`` is from attention computed with the products alone, up to a constant (the bias)."""
    T = x.shape[1]
    built = np.zeros(out.shape)
    for qk, ov in pairs:
        scores = x @ qk @ x.swapaxes(1, 2) / math.sqrt(n.d // n.H)
        scores = np.where(np.tri(T, dtype=bool), scores, -np.inf)
        built += softmax(scores) @ x @ ov
    gap = out - built
    return float(np.abs(gap - gap[:1, :1]).max())
