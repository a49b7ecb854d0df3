"""The student's verification suite: each function accepts all correct models and rejects the wrong ones."""

from __future__ import annotations

import reprlib
from collections.abc import Sequence

import numpy as np
import pytest

from autograder.assignment.measure import student_formula
from autograder.assignment.measure.carry_forward import read_parts
from autograder.assignment.measure.verification import LOSS_SIZES, SIZES, Trial, try_function
from autograder.assignment.oracle.client import Oracle
from autograder.grading.suite import Suite, get_check_id
from autograder.grading.verdict import Failed, Notes, Partial
from autograder.sandbox.remote.student_code import StudentCode

MOST_TOLD = 2  # kinds of wrong models named at once


@pytest.fixture
def student_with_formulas(suite: Suite, request: pytest.FixtureRequest) -> StudentCode:
    """Return the submission, with correct functions in place of those of paper.py that are wrong."""
    wrong = []
    if not all(student_formula.is_formula_right(suite.student, n) for n in SIZES):
        wrong.append("parameter_count")
    if not all(student_formula.is_expected_loss_right(suite.student, n) for n in LOSS_SIZES):
        wrong.append("expected_initial_loss")
    replaced = wrong if suite.carry_forward else []
    suite.carried[get_check_id(request.node)] = replaced
    return suite.student.with_parts(read_parts(replaced))


@pytest.mark.needs("count_is_right")
def test_parameter_count(
    student_with_formulas: StudentCode, oracle: Oracle, rng: np.random.Generator, notes: Notes
) -> None:
    """count_is_right accepts models with the right number of trainable parameters, and no others."""
    judge(try_function(student_with_formulas, oracle, "count_is_right", rng), notes)


@pytest.mark.needs("is_causal")
def test_causality(student: StudentCode, oracle: Oracle, rng: np.random.Generator, notes: Notes) -> None:
    """is_causal accepts models in which no logit depends on a later token, and no others."""
    judge(try_function(student, oracle, "is_causal", rng), notes)


@pytest.mark.needs("initial_loss_is_right")
def test_initial_loss(
    student_with_formulas: StudentCode, oracle: Oracle, rng: np.random.Generator, notes: Notes
) -> None:
    """initial_loss_is_right accepts models that start at the expected loss, and no others."""
    judge(try_function(student_with_formulas, oracle, "initial_loss_is_right", rng), notes)


@pytest.mark.needs("shapes_are_right")
def test_shapes(student: StudentCode, oracle: Oracle, rng: np.random.Generator, notes: Notes) -> None:
    """shapes_are_right accepts models whose outputs have the right shapes, and no others."""
    judge(try_function(student, oracle, "shapes_are_right", rng), notes)


def judge(trials: Sequence[Trial], notes: Notes) -> None:
    """Raise Failed if a correct model is rejected, or Partial with the share of wrong models that are."""
    right = [trial for trial in trials if not trial.row.name]
    wrong = [trial for trial in trials if trial.row.name]
    notes.record(rejects={trial.row.name: trial.accepts is False for trial in wrong})
    for trial in right:
        if trial.error:
            raise trial.error
        if trial.accepts is None:
            raise Failed(
                f"For a correct model it returned {reprlib.repr(trial.value)}.", "It should return True or False."
            )
    rejected = [trial for trial in right if not trial.accepts]
    if rejected:
        raise Failed(
            f"It rejects {len(rejected)} of {len(right)} correct models, such as one with {rejected[0].describe()}.",
            "A function that rejects a correct model gets no points.",
        )
    missed = [trial for trial in wrong if trial.accepts is not False]
    caught = len(wrong) - len(missed)
    counts = f"It rejects {caught} of {len(wrong)} wrong models, and none of the {len(right)} correct ones."
    if not missed:
        notes.remark(counts)
        return
    raising = next((trial.error for trial in missed if trial.error), None)
    if raising:
        counts += f" On a wrong model it raised {raising.remote.type}; it should return False."
    kinds = [f"a model {trial.row.told}" for trial in missed[:MOST_TOLD]]
    others = f", and {len(missed) - MOST_TOLD} of other kinds" if len(missed) > MOST_TOLD else ""
    hint = f"It accepts {' and '.join(kinds)}{others}."
    if not caught:
        raise Failed(counts, hint, error=raising)
    raise Partial(counts, hint, error=raising, share=caught / len(wrong))
