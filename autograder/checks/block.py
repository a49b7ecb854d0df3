"""Block by itself, around known linear maps in place of its attention and its MLP."""

from __future__ import annotations

import numpy as np
import pytest

from autograder.checks import ladder, matching
from autograder.oracle.handle import Oracle
from autograder.outcome import Failed, Notes
from autograder.sandbox.student import Student

pytestmark = pytest.mark.needs("Block")

D, H, T_MAX, B, T = 24, 3, 9, 2, 7
SIZES = {"d": D, "H": H, "T_max": T_MAX}
TRIAL = np.ones((1, 2, D), np.float32)


def test_composition(
    student: Student, oracle: Oracle, charged: set[str], rng: np.random.Generator, notes: Notes
) -> None:
    probes = {name: rng.standard_normal((D, D)) / np.sqrt(D) for name in ("MultiHeadAttention", "MLP")}
    # In the process of this file alone: the linear maps change the classes in it.
    _, all_used = matching.with_stand_ins(student, "Block", SIZES, probes, TRIAL)
    if not all_used:
        notes.say("Attention and MLP are no modules of their own in this block; it is judged in the full model.")
        return
    judged = matching.against_oracle(
        oracle,
        "block",
        lambda double: matching.with_stand_ins(
            student, "Block", SIZES, probes, TRIAL.astype(np.float64 if double else np.float32), double
        )[0],
        [rng.standard_normal((B, T, D))],
        lambda out, x: ladder.tensor(out, x.shape),
        {"d": D},
        rng,
        {"attention": probes["MultiHeadAttention"], "mlp": probes["MLP"]},
    )
    charged.update(judged.match.mistakes if judged.match else ())
    matching.decide(judged, "the block", notes)


def test_identity(student: Student, rng: np.random.Generator, notes: Notes) -> None:
    probes = {name: np.zeros((D, D)) for name in ("MultiHeadAttention", "MLP")}
    module, _ = matching.with_stand_ins(student, "Block", SIZES, probes, TRIAL)
    # All that is left of it is zero too, so parts that are no modules of their own are just as silent.
    module.push({p.name: np.zeros(p.shape, np.float32) for p in module.parameters if not p.owner})
    x = rng.standard_normal((B, T, D)).astype(np.float32)
    out = ladder.tensor(module(x), x.shape)
    gap = float(np.abs(out - x).max())
    if not gap <= 1e-5:
        raise Failed(
            f"With an attention and an MLP that give zero, the block changes x by up to {gap:.2g}, and should not.",
            "Does each sublayer add to x, and read through its norm without changing x itself?",
        )
    notes.say("With both sublayers silent, x passes through unchanged.")
