"""The initial loss, and the scaling of the projections that add to the residual stream."""

from __future__ import annotations

import math
from dataclasses import replace
from functools import partial

import numpy as np
import pytest

from autograder.assignment import mistakes
from autograder.assignment.measure.comparison import Comparison
from autograder.assignment.measure.initialisation import (
    ABOVE,
    BATCH,
    BELOW,
    expected_losses,
    explain_loss,
    initial_logits,
    load_sample_text,
)
from autograder.assignment.measure.numeric import cross_entropy, uniform_cross_entropy
from autograder.assignment.measure.parameter_usage import Claims
from autograder.assignment.measure.residual_scaling import (
    LAYERS,
    ROLES,
    SCALED_BOTH,
    SCALED_DOWN,
    MatricesByRole,
    Scaling,
    check_scaling_by_role,
    fan_in_and_out,
    find_sublayers,
    find_unreproducible,
    measure_block,
    measure_matrices,
    run_model,
)
from autograder.assignment.measure.residual_scaling_without_layouts import (
    check_scaling_by_name,
    find_sublayers_by_effect,
)
from autograder.assignment.measure.whole_model import WholeModel
from autograder.assignment.mistakes import Mistake
from autograder.assignment.sizes import Dims, Sizes
from autograder.grading.verdict import Failed, Notes
from autograder.sandbox.remote.student_code import StudentCode

pytestmark = [
    pytest.mark.needs("GPT"),
    pytest.mark.about("GPT"),
    pytest.mark.usefixtures("logits_depend_on_weights"),
]

CLASSES = {"o": "MultiHeadAttention", "down": "MLP"}  # of the projections that add to the residual stream
SEEDS = 3  # the median of three decides if the loss of the first is outside the window
OTHER_LAYERS = (2, 3, 5, 6)  # one of these is drawn, so that a factor can't be tailored to LAYERS; all divide d


def test_window(
    student: StudentCode,
    sizes: Sizes,
    whole: WholeModel,
    claims: Claims,
    deducted: set[Mistake],
    rng: np.random.Generator,
    notes: Notes,
) -> None:
    """The initial loss is just above ln V."""
    n, chance = sizes.course, math.log(sizes.course.V)
    low, high = round(chance - BELOW, 2), round(chance + ABOVE, 2)
    text, targets = load_sample_text(sizes)
    idx = np.concatenate([rng.integers(0, n.V, (BATCH, n.T_max)), text])
    losses: list[float] = []
    for seed in rng.integers(1 << 31, size=SEEDS):
        initial, logits = initial_logits(student, whole, claims.steady, n, int(seed), idx)
        if (logits >= 0).all() and np.allclose(logits.sum(-1), 1, atol=1e-3):
            raise Failed(
                "At every position, the logits are between 0 and 1 and sum to 1.",
                causes=[mistakes.model.LOGITS_ARE_PROBABILITIES],
            )
        losses.append(float(uniform_cross_entropy(logits[:BATCH]).mean()))
        if len(losses) == 1 and low <= losses[0] <= high:
            break
    loss = float(np.median(losses))
    figures = {"random targets": loss, f"ln {n.V}": chance} | expected_losses(n)
    if len(text):
        figures["English text"] = cross_entropy(logits[BATCH:], targets)
    notes.record(losses={name: round(value, 4) for name, value in figures.items()})
    if not low <= loss <= high:
        measured = f"The initial loss is {loss:.2f}; it should be just above ln {n.V} = {chance:.3f}, at most {high}."
        raise Failed(measured, *explain_loss(initial, n, loss, deducted))
    notes.remark(f"{loss:.2f} on random targets, {loss - chance:.2f} above ln {n.V} = {chance:.3f}.")


def test_residual_scaling(
    student_about_weights: StudentCode,
    deducted: set[Mistake],
    layouts: dict[str, Comparison],
    rng: np.random.Generator,
    notes: Notes,
) -> None:
    """The two projections of each block that add to the residual stream are scaled by 1/sqrt(2L)."""
    student, seed = student_about_weights, int(rng.integers(1 << 31))
    dims = [Dims(V=11, T_max=8, d=60, H=2, L=L) for L in (*LAYERS, int(rng.choice(OTHER_LAYERS)))]
    # The student's GPT may not find the projection of a replaced class by its name.
    residual = [role for role, name in CLASSES.items() if name not in student.parts] or list(CLASSES)
    if mistakes.attention.PROJECTION_MISSING in deducted and "o" in residual:
        residual.remove("o")

    def measure_model(n: Dims) -> MatricesByRole:
        model = student.build("GPT", n.arguments(), seed=seed)
        return measure_matrices(model, sublayers, n.L, partial(run_model, n=n))

    for find in (partial(find_sublayers, layouts=layouts), find_sublayers_by_effect):
        sublayers = find(student, n=dims[0])
        models = {n.L: measure_model(n) for n in dims if sublayers}
        if models and all(role in matrices for matrices in models.values() for role in residual):
            break
    else:
        check_scaling_by_name(student, dims[0], dims[1], deducted, seed, notes)
        return
    # Weights that were never initialised are deducted by the initial loss.
    residual = [role for role in residual if np.isfinite([m.deviation for m in models[LAYERS[0]][role]]).all()]
    block = measure_block(student, sublayers, dims[0], seed)
    scaling = Scaling(models, block, residual, fan_in_and_out(sublayers))
    notes.record(
        standard_deviations={ROLES[role]: [[round(scaling.deviation(role, L), 5) for L in LAYERS]] for role in residual}
    )
    try:
        check_scaling_by_role(scaling)
    except Failed:
        ignored = find_unreproducible(models[dims[1].L], measure_model(dims[1]))
        if not ignored:
            raise
        check_scaling_by_role(replace(scaling, ignored=ignored))
    notes.remark(SCALED_DOWN if residual == ["down"] else SCALED_BOTH)
