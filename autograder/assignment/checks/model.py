"""GPT alone, with a stub (a known linear map) for its blocks; then its loss, gradients and training."""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import replace

import numpy as np
import pytest

from autograder.assignment import mistakes
from autograder.assignment.measure import outputs, parameter_usage, whole_model
from autograder.assignment.measure.comparison import (
    ROUNDED,
    Comparison,
    compare_with_oracle,
    format_percent,
    penalised_mistakes,
    raise_verdict,
    random_weights_for,
)
from autograder.assignment.measure.loss import (
    LossPass,
    compute_loss,
    explain_class_weights,
    explain_loss,
    is_close,
    read_logits_and_loss,
)
from autograder.assignment.measure.numeric import cross_entropy
from autograder.assignment.measure.stubbed_class import (
    StubbedClass,
    build_with_stubs,
    find_wrong_arguments,
    stub_parts,
)
from autograder.assignment.measure.whole_model import WholeModel
from autograder.assignment.mistakes import Mistake
from autograder.assignment.oracle.client import Oracle
from autograder.assignment.sizes import Dims, Sizes
from autograder.grading.verdict import Failed, Notes, Partial
from autograder.sandbox.remote.errors import Raised, StudentError
from autograder.sandbox.remote.proxy import ModuleProxy
from autograder.sandbox.remote.student_code import StudentCode

pytestmark = pytest.mark.needs("GPT")

B, T = 2, 7
# As many blocks as nothing else; 8 heads, since 4 or 6 blocks may be hard-coded.
BLOCKS, HEADS = 3, 8
STUBS = 8  # different ones, so that it shows which block is used
WRONG_LOSS = "wrong loss"  # a symptom
TRIAL = np.zeros((1, 2), np.int64)
# Whatever explains a wrong loss has to hold for all of these; with T=V=11 some wrong reshapes don't raise.
LOSS_SHAPES = ((B, T), (1, 1), (3, 11))
TRAINED = Dims(V=65, T_max=16, d=32, H=4, L=1)
STEPS, RATE = 50, 2e-2
ENOUGH = 0.8  # training stops at this fraction of the required loss
ROUNDING = 2.0**-8  # relative, as in bfloat16
GRADIENT_TOLERANCE = 1e-3  # of the largest entry
FALLEN = 0.6  # the required loss is this fraction of the initial one: correct models reach it with a margin


@pytest.fixture(scope="module")
def model_comparison(
    student: StudentCode, oracle: Oracle, sizes: Sizes, module_rng: np.random.Generator, stub: np.ndarray
) -> Comparison | None:
    """Compare GPT around the stubs with the oracle; None if the blocks are not separate modules."""
    n = replace(sizes.small, L=BLOCKS, H=HEADS)
    stubbed = build_with_stubs(student, "GPT", n.arguments(), {"Block": stub}, TRIAL)
    return _compare_around_stubs(oracle, n, stub, stubbed, module_rng) if stubbed.used else None


@pytest.fixture(scope="module")
def stub(sizes: Sizes, module_rng: np.random.Generator) -> np.ndarray:
    """Draw the linear maps (STUBS, d, d) that replace the blocks, in the order in which they are applied."""
    d = sizes.small.d
    return np.asarray(module_rng.standard_normal((STUBS, d, d)) / np.sqrt(d))


@pytest.mark.deducts
def test_composition(
    student: StudentCode,
    oracle: Oracle,
    sizes: Sizes,
    model_comparison: Comparison | None,
    stub: np.ndarray,
    deducted: set[Mistake],
    layouts: dict[str, Comparison],
    request: pytest.FixtureRequest,
    rng: np.random.Generator,
    notes: Notes,
) -> None:
    """With stubs as blocks, GPT is embeddings, L blocks in order, final LayerNorm and unembedding."""
    # A wrong LayerNorm class is deducted once, although GPT uses it again.
    n = replace(sizes.small, L=BLOCKS, H=HEADS)
    norm_mistakes = [row for row in mistakes.of("norm") if row in deducted]
    try:
        found = model_comparison or _compare_without_blocks(student, oracle, sizes, rng)
    except Failed:
        stubbed = build_with_stubs(student, "GPT", n.arguments(), {"Block": stub}, TRIAL)
        found = _compare_around_stubs(oracle, n, stub, stubbed, rng)  # the blocks may exist without being called
        if found.match is None:
            raise
    deducted.update(found.mistakes)
    if found is model_comparison:
        layouts["model"] = model_comparison
    wrong = find_wrong_arguments(student, "GPT", {"Block": {"d": n.d, "H": n.H, "T_max": n.T_max}}, deducted)
    student.release()  # the stubs
    whole: WholeModel = request.getfixturevalue("whole")
    raise_verdict(found, "GPT", notes, norm_mistakes)
    if wrong:
        raise wrong
    if whole.difference and not whole.unused:
        kind = Partial if len(whole.causes) == 1 else Failed
        raise kind(whole.difference, "" if whole.causes else whole_model.ARGUMENTS, whole.causes)
    if model_comparison is None:
        notes.remark("This GPT has no separate block modules; everything around the blocks is correct.")


def test_gradients(
    student: StudentCode,
    oracle: Oracle,
    sizes: Sizes,
    request: pytest.FixtureRequest,
    stub: np.ndarray,
    rng: np.random.Generator,
) -> None:
    """Every parameter outside the blocks gets the gradient of the cross-entropy."""
    try:
        model_comparison: Comparison | None = request.getfixturevalue("model_comparison")
    except (Failed, StudentError):
        model_comparison = None  # wrong outputs are judged by their own check
    n = replace(sizes.small, L=1)  # the rest of GPT does not depend on the number of blocks
    # Each token and each position.
    idx = rng.permutation(np.resize(np.arange(n.V), B * n.T_max)).reshape(B, n.T_max)
    targets = rng.integers(0, n.V, idx.shape)
    module = _build_for_loss(student, n, stub[0], idx, targets)
    own = {
        name: w.astype(np.float32)
        for name, w in random_weights_for(module, rng).items()
        if model_comparison is None or name not in model_comparison.left_out
    }
    module.push(own)
    try:
        got = module.gradients(idx, targets)
    except Raised:  # the last position may be missing, which other checks judge
        idx, targets = idx[:, :T], targets[:, :T]
        got = module.gradients(idx, targets)
    without_gradient = [name for name in own if name not in got or not np.abs(got[name]).max() > 0]
    if without_gradient:
        some = ", ".join(without_gradient[:3]) + (", ..." if len(without_gradient) > 3 else "")
        is_frozen = {p.name for p in module.parameters if not p.grad}.issuperset(without_gradient)
        raise Failed(
            f"{len(without_gradient)} of GPT's {len(own)} own tensors get no gradient from the loss, so they would "
            f"never train: {some}.",
            "" if is_frozen else "Does forward use each of them to compute the logits and the loss?",
            [mistakes.model.PARAMETER_FROZEN] if is_frozen else [],
        )
    # A loss other than the cross-entropy has different gradients; a separate check judges it.
    try:
        logits, loss = read_logits_and_loss(module(idx, targets))
        logits = logits.reshape(*idx.shape, n.V)
        usual = abs(loss - cross_entropy(logits, targets)) <= 1e-3
    except (Failed, ValueError):
        usual = False
    if (
        usual
        and model_comparison
        and model_comparison.match
        and not penalised_mistakes(model_comparison.match.mistakes)
    ):
        right = oracle.gradients(
            own, model_comparison.match.layout, n.arguments(), stub[0].astype(np.float32), idx, targets
        )
        for name, gradient in right.items():
            _require_gradient(name, got[name], gradient)


def test_loss(student: StudentCode, sizes: Sizes, rng: np.random.Generator) -> None:
    """With targets, forward returns the logits (B, T, V) and their mean cross-entropy."""
    n = replace(sizes.small, L=1, T_max=sizes.small.V)
    # With stubs, so that mistakes inside the blocks can't affect the loss check.
    stub = np.asarray(rng.standard_normal((n.d, n.d)) / np.sqrt(n.d))
    model = _build_for_loss(student, n, stub, TRIAL, TRIAL)
    outputs.require_affordable(model)
    model.push({name: value.astype(np.float32) for name, value in random_weights_for(model, rng).items()})
    passes: list[LossPass] = []
    wrong = None
    for batch, length in LOSS_SHAPES:
        try:
            passes.append(compute_loss(model, n, batch, length, rng))
        except Failed:
            if wrong is None:
                raise
            continue  # a wrong loss may not exist for one token
        if wrong is None and not is_close(passes[-1].loss, passes[-1].right):
            wrong = passes[-1]
    if wrong:
        causes = explain_loss(passes) or explain_class_weights(model, n, passes, rng)
        ratios = ", ".join(f"{found.loss / found.right:.3g} at {found.idx.shape}" for found in passes)
        measured = "" if causes else f" Ratios of the two: {ratios}."
        raise Failed(
            f"For idx of shape {wrong.idx.shape}, the loss is {wrong.loss:.4f}; the cross-entropy of the returned "
            f"logits and the targets is {wrong.right:.4f}.{measured}",
            causes=causes,
            symptom=WRONG_LOSS,
        )
    if any(found.is_flat for found in passes):
        raise Partial(
            f"For idx of shape {(B, T)} and targets, the logits have shape {(B * T, n.V)}, not {(B, T, n.V)}.",
            causes=[mistakes.loss.LOGITS_FLATTENED],
        )


def test_training(student_about_gpt: StudentCode, whole: WholeModel, rng: np.random.Generator, notes: Notes) -> None:
    """GPT overfits one batch with Adam."""
    student_about_gpt.release()  # the stubs that the earlier checks used
    n, (batch, length) = TRAINED, (8, 16)
    seed = int(rng.integers(1 << 31))
    model = student_about_gpt.build("GPT", n.arguments(), seed=seed)
    idx, targets = rng.integers(0, n.V, (batch, length)), rng.integers(0, n.V, (batch, length))
    if outputs.find_unusable(before := model.pull()):  # the initial loss depends on these
        model.push(drawn := whole_model.draw_initial_like_weights(model, rng))
        before = before | drawn
    first = cross_entropy(outputs.require_logits(model(idx), (batch, length, n.V)), targets)
    try:
        is_usual = is_close(read_logits_and_loss(model(idx, targets))[1], first)
    except (Failed, StudentError):
        is_usual = False
    # Another loss, which its own check judges, doesn't tell when it is low enough.
    enough = ENOUGH * FALLEN * first if is_usual else 0.0
    losses = [round(loss, 3) for loss in model.train(idx, targets, STEPS, RATE, enough)]
    # The learnt weights alone have to give the low loss, in a process that has never seen the targets.
    trained = model.pull()
    known = whole.forward(model, n, trained, rng)
    if known is None:
        replica = student_about_gpt.replica.build("GPT", n.arguments(), seed=seed)
        masks = outputs.mask_parameters(model)
        replica.push({name: value if name in masks else round_randomly(value, rng) for name, value in trained.items()})
    last = cross_entropy(known(idx) if known else outputs.require_logits(replica(idx), (batch, length, n.V)), targets)
    notes.record(training=losses)
    if not last <= FALLEN * first:
        raise Failed(
            f"After {len(losses)} steps of Adam on one batch, the loss went from {first:.2f} to {last:.2f}; a model of "
            f"this size should be able to overfit one batch.",
            "Are all parts registered as parameters, and does each of them get a gradient?"
            if is_usual
            else "The loss that forward returns is not the cross-entropy; fix that one first.",
            symptom="" if is_usual else WRONG_LOSS,
        )
    constant = {name for name, value in trained.items() if np.array_equal(before[name], value)}
    if constant:
        constant &= whole.block_parameters(model, n)
    if constant and not whole.mistakes and (stuck := _find_without_gradient(model, n, idx, targets, constant, rng)):
        raise Partial(
            f"{len(losses)} steps of Adam left {', '.join(stuck[:2] + ['...'] * (len(stuck) > 2))} unchanged.",
            causes=[mistakes.model.PARAMETER_WITHOUT_GRADIENT],
        )
    notes.remark(
        f"{len(losses)} of at most {STEPS} steps of Adam (rate {RATE}) on one batch were enough: from {first:.2f} to "
        f"{last:.2f}."
    )


def _find_without_gradient(
    model: ModuleProxy,
    n: Dims,
    idx: np.ndarray,
    targets: np.ndarray,
    names: Collection[str],
    rng: np.random.Generator,
) -> list[str]:
    """Return those of the trainable parameters ``names`` that affect the logits but never get a gradient.

    The weights are random, since those of a model that starts with zeros can keep gradients at zero.
    """
    model.push(whole_model.draw_initial_like_weights(model, rng))
    gradients = model.gradients(idx, targets)
    unused = {p.name for p in parameter_usage.unused_parameters(model, n, rng)}
    suspects = [p.name for p in model.parameters if p.grad and p.name in names and p.name not in unused]
    return [name for name in suspects if name not in gradients or not gradients[name].any()]


# --- shared -----------------------------------------------------------------------------------------------------------


def _build_for_loss(
    student: StudentCode, n: Dims, stub: np.ndarray, idx: np.ndarray, targets: np.ndarray
) -> ModuleProxy:
    """Build GPT around a stub, in float64, which autocast doesn't round, or in float32 if its loss needs that."""
    try:
        module, _ = stub_parts(student, "GPT", n.arguments(), {"Block": stub}, TRIAL, double=True)
        module(idx, targets)
    except Raised:
        module, _ = stub_parts(student, "GPT", n.arguments(), {"Block": stub}, TRIAL)
    return module


def _gradient_gap(got: np.ndarray, right: np.ndarray) -> float:
    """Return the largest difference, relative to the largest entry."""
    return float(np.abs(got - right).max(initial=0) / max(1e-3, np.abs(right).max()))


def _require_gradient(name: str, got: np.ndarray, right: np.ndarray) -> None:
    """Raise Failed unless a parameter's gradient is ``right``."""
    gap = _gradient_gap(got, right)
    if gap <= GRADIENT_TOLERANCE:
        return
    dropped = ~got.reshape(len(got), -1).any(1) if got.ndim > 1 else np.zeros(len(got), bool)
    if dropped.any() and _gradient_gap(got[~dropped], right[~dropped]) <= GRADIENT_TOLERANCE:
        raise Failed(
            f"The gradient of {name} is zero in {int(dropped.sum())} of its {len(got)} rows; the first is row "
            f"{int(dropped.argmax())}.",
            causes=[mistakes.model.ROW_WITHOUT_GRADIENT],
        )
    raise Failed(
        f"The gradient of {name} differs from that of the cross-entropy by {format_percent(gap)} of its largest entry.",
        "Is a tensor between that parameter and the loss detached?",
    )


def _compare_around_stubs(
    oracle: Oracle, n: Dims, stub: np.ndarray, stubbed: StubbedClass, rng: np.random.Generator
) -> Comparison:
    """Compare the model with the oracle, with a stub in place of each block."""
    block_numbers = {found[0] for p in stubbed.module.parameters if p.owner and (found := re.findall("[0-9]+", p.name))}
    return compare_with_oracle(
        oracle,
        "model",
        stubbed.build,
        [rng.integers(0, n.V, (B, T)), rng.integers(0, n.V, (1, n.T_max))],
        lambda out, idx: outputs.require_logits(out, (*idx.shape, n.V)),
        n.arguments() | {"blocks": len(block_numbers)},  # counted by the numbers in the names; 0 if there are none
        rng,
        {"block": stub},
    )


def _compare_without_blocks(student: StudentCode, oracle: Oracle, sizes: Sizes, rng: np.random.Generator) -> Comparison:
    """Compare a model in which no block can be replaced; raise Failed if some parameters affect no logit.

    With all matrices at zero, the blocks add at most constants, which the final LayerNorm removes. All gains and
    biases are one, so it does not matter which is which.
    """
    student.release()  # the stubs, which were not used
    n = replace(sizes.small, L=BLOCKS, H=HEADS)
    module = student.build("GPT", n.arguments())
    idx = rng.integers(0, n.V, (B, T))
    dead = parameter_usage.unused_parameters(module, n, rng)
    if dead:
        raise Failed(
            f"Changing {', '.join(p.name for p in dead[:4])} doesn't affect the logits.",
            "Does x go through all blocks?",
        )
    matrices = {p.name for p in module.parameters if p.is_matrix and p.size > 4 * n.d}  # not a norm's gain and bias
    rows = {n.V, n.T_max, n.T_max + 1, n.V + n.T_max}
    tables = [p.name for p in module.parameters if p.name in matrices and rows & {*p.shape}]
    weights = {p.name: np.zeros(p.shape) if p.name in matrices else np.ones(p.shape) for p in module.parameters}
    weights |= {name: rng.standard_normal(weights[name].shape) for name in tables}
    module.push({name: w.astype(np.float32) for name, w in weights.items()})
    own = {name: weights[name].astype(np.float32) for name in tables}
    own |= {f"ln_f.{part}": np.ones(n.d, np.float32) for part in ("gain", "bias")}
    cases = [(x, outputs.require_logits(module(x), (*x.shape, n.V)).astype(np.float32)) for x in (idx, idx[:1, :2])]
    stubs = {"block": np.eye(n.d, dtype=np.float32)}
    findings = oracle.identify("model", own, cases, n.arguments(), stubs, ROUNDED)
    return Comparison(findings, module, own, "model", n.arguments())


def round_randomly(weights: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Perturb the values randomly, as rounding to 8 bits would, so that data hidden in the last bits is lost."""
    return np.asarray(weights * (1 + rng.uniform(-ROUNDING, ROUNDING, weights.shape)), weights.dtype)
