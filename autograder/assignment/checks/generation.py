"""The sampling of new tokens: shape, context and distribution.

The right distribution is that of the student's own forward on the last T_max tokens, under weights that the grader
sets. It comes from the oracle if the full model is known, else from a replica, which has not seen generate's samples.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from autograder.assignment import mistakes
from autograder.assignment.measure import outputs
from autograder.assignment.measure.numeric import softmax
from autograder.assignment.measure.sampling import (
    Generate,
    Predictors,
    call_generate,
    check_with_any,
    compare_samples,
    explain_cache_positions,
    explain_short_context,
    mean_predictions,
    predict,
    require_samples_of,
    sample_text,
)
from autograder.assignment.measure.whole_model import WholeModel
from autograder.assignment.mistakes import Mistake
from autograder.assignment.sizes import Dims, Sizes
from autograder.grading import exceptions
from autograder.grading.verdict import Failed, Notes
from autograder.sandbox.remote.errors import Raised, StudentError
from autograder.sandbox.remote.proxy import ModuleProxy
from autograder.sandbox.remote.student_code import StudentCode

pytestmark = [
    pytest.mark.needs("GPT"),
    pytest.mark.about("generate"),
    pytest.mark.usefixtures("logits_depend_on_weights"),
]

NEW_TOKENS = 7  # new tokens after a long prompt
ROWS = 24  # many rows and few steps: a step costs the same for all of them
LONG_ROWS = 8  # rows of T_max tokens, which cost more
BEFORE_CROP = 3  # tokens before T_max: a generate that appends 1 or 2 tokens does not end there
STRONG_DEVIATIONS = (10.0, 3.0, 1.0)  # of the logits, in this order until correct code stays finite
DEVIATIONS, LIKELIEST = (2.0, 1.0, 0.3), 0.7  # of the logits; the first at which no token is nearly certain is used
KEEPS_STATE = mistakes.generation.GENERATE_KEEPS_STATE
RunCheck = Callable[[Callable[[Generate], None]], None]


@pytest.fixture
def model(student: StudentCode, sizes: Sizes) -> ModuleProxy:
    """Build the small GPT that generates."""
    return student.build("GPT", sizes_of_generation(sizes).arguments())


@pytest.fixture
def current_weights() -> dict[str, np.ndarray]:
    """Return the weights that ``set_weights`` set last; empty before the first call."""
    return {}


@pytest.fixture
def set_weights(
    student: StudentCode,
    model: ModuleProxy,
    sizes: Sizes,
    whole: WholeModel,
    current_weights: dict[str, np.ndarray],
    rng: np.random.Generator,
) -> Callable[[dict[str, np.ndarray]], Predictors]:
    """Return a function that sets weights and returns the predictors of the next token under them."""
    n = sizes_of_generation(sizes)

    def set_weights(weights: dict[str, np.ndarray]) -> Predictors:
        current_weights.update(weights)
        model.push(weights)
        known = whole.forward(model, n, model.pull() | weights, rng) if whole.layout else None

        @functools.cache
        def replica() -> ModuleProxy:
            built = student.replica.build("GPT", n.arguments())
            built.push(weights)
            return built

        def predict_by_replica(context: np.ndarray) -> np.ndarray:
            return mean_predictions(replica(), n, context)

        return (lambda context: softmax(known(context)), predict_by_replica) if known else (predict_by_replica,)

    return set_weights


@pytest.fixture
def predictors(
    model: ModuleProxy,
    sizes: Sizes,
    set_weights: Callable[[dict[str, np.ndarray]], Predictors],
    rng: np.random.Generator,
) -> Predictors:
    """Set weights under which the next token depends strongly on the whole context, and logits are finite."""
    n = sizes_of_generation(sizes)
    for deviation in STRONG_DEVIATIONS:
        predictors = set_weights(outputs.random_matrices(model, rng, deviation))
        try:
            predict(model, n, rng.integers(0, n.V, (2, n.T_max)))
        except Raised:
            break  # if generate hits the same error, its own call reports it
        except Failed:
            continue
        break
    return predictors


@pytest.fixture(scope="module")
def failures() -> list[Failed]:
    """Return the earlier failures of checks of generate."""
    return []


@pytest.fixture
def run_check(
    student: StudentCode,
    sizes: Sizes,
    model: ModuleProxy,
    current_weights: dict[str, np.ndarray],
    deducted: set[Mistake],
    failures: list[Failed],
    notes: Notes,
) -> RunCheck:
    """Return a function that runs a check of generate, and deducts once for state kept between its calls."""
    n = sizes_of_generation(sizes)

    def call(prompt: np.ndarray, new: int, seed: int) -> np.ndarray:
        return call_generate(student, model, prompt, new, n, seed)

    def call_in_new_process(prompt: np.ndarray, new: int, seed: int) -> np.ndarray:
        with student.fresh_process() as fresh:
            built = fresh.build("GPT", n.arguments())
            built.push(dict(current_weights))
            return call_generate(fresh, built, prompt, new, n, seed)

    def run_check(check: Callable[[Generate], None]) -> None:
        try:
            return check(call)
        except (Failed, Raised) as error:
            if isinstance(error, Failed) and error.diagnosis:
                failures.append(error)
                raise  # a known mistake explains the tokens
            try:
                check(call_in_new_process)
            except (Failed, StudentError):
                if isinstance(error, Raised):
                    raise error from None
                earlier = "An earlier check of generate fails too; fix that one first." if failures else ""
                failures.append(error)
                raise Failed(str(error), earlier) from None
            if KEEPS_STATE not in deducted:
                deducted.add(KEEPS_STATE)
                raised = error if isinstance(error, Raised) else None
                symptom = (
                    exceptions.describe_exception(raised) if raised else "One of the later calls to generate is wrong."
                )
                raise Failed(symptom, causes=[KEEPS_STATE], error=raised) from None
        notes.remark("generate depends on earlier calls; in a new process, each call gives the right tokens.")

    return run_check


def test_output_shape(
    student: StudentCode,
    sizes: Sizes,
    model: ModuleProxy,
    predictors: Predictors,
    run_check: RunCheck,
    current_weights: dict[str, np.ndarray],
    rng: np.random.Generator,
    notes: Notes,
) -> None:
    """generate keeps the prompt and appends max_new_tokens sampled tokens, also to a prompt of one token."""
    n = sizes_of_generation(sizes)
    prompt = rng.integers(0, n.V, (ROWS, 5))

    def explain(tokens: np.ndarray) -> list[Mistake]:
        replica = student.replica.build("GPT", n.arguments())
        replica.push(current_weights)
        cause = explain_short_context(model, predictors[-1], n, prompt, tokens)
        return cause or explain_cache_positions(replica, replica.pull(), n, prompt.shape[1], tokens)

    def check(call: Generate) -> None:
        if not np.array_equal(call(prompt, 0, 0), prompt):
            raise Failed("With max_new_tokens=0, generate changed the prompt.", "Does it only append new tokens?")
        require_samples_of(predictors, n, call(prompt, 4, 0), 5, "After a prompt of 5 tokens,", explain)
        require_samples_of(predictors, n, call(prompt[:1, :1], 2, 0), 1, "After a prompt of 1 token,", lambda _: [])

    run_check(check)
    notes.record(sample=sample_text(student, sizes, rng))


def test_crop(
    sizes: Sizes,
    model: ModuleProxy,
    predictors: Predictors,
    run_check: RunCheck,
    rng: np.random.Generator,
    notes: Notes,
) -> None:
    """Past T_max each new token is sampled given the last T_max tokens."""
    n = sizes_of_generation(sizes)
    prompt = rng.integers(0, n.V, (LONG_ROWS, n.T_max - BEFORE_CROP))
    _check_long(run_check, model, predictors, n, prompt, f"Past T_max={n.T_max},")
    notes.remark(f"Past T_max={n.T_max}, each new token is sampled from the last {n.T_max} tokens.")


def test_long_prompt(
    sizes: Sizes,
    model: ModuleProxy,
    predictors: Predictors,
    run_check: RunCheck,
    rng: np.random.Generator,
) -> None:
    """A prompt longer than T_max is cropped to its last T_max tokens."""
    n = sizes_of_generation(sizes)
    prompt = rng.integers(0, n.V, (LONG_ROWS, n.T_max + 7))
    when = f"After a prompt of {prompt.shape[1]} tokens, with T_max={n.T_max},"
    _check_long(run_check, model, predictors, n, prompt, when)


def test_sampling(
    sizes: Sizes,
    model: ModuleProxy,
    set_weights: Callable[[dict[str, np.ndarray]], Predictors],
    whole: WholeModel,
    run_check: RunCheck,
    rng: np.random.Generator,
    notes: Notes,
) -> None:
    """The new tokens follow the softmax of the last position's logits, for every row and seed."""
    n = sizes_of_generation(sizes)
    is_row_independent = whole.layout is not None and not whole.mistakes
    prompts = rng.integers(0, n.V, (16, 2))
    for deviation in DEVIATIONS:
        predictors = set_weights(outputs.random_matrices(model, rng, deviation))
        predictions = predictors[0](prompts)
        if np.median(predictions[:, -1].max(-1)) < LIKELIEST:
            break
    run_check(
        lambda call: check_with_any(
            predictors,
            lambda predict_next: compare_samples(call, model, predict_next, n, prompts, is_row_independent, rng, notes),
        )
    )


def _check_long(
    run_check: RunCheck, model: ModuleProxy, predictors: Predictors, n: Dims, prompt: np.ndarray, when: str
) -> None:
    """Check the tokens after a prompt that makes the context reach T_max."""

    def explain(tokens: np.ndarray) -> list[Mistake]:
        return explain_short_context(model, predictors[-1], n, prompt, tokens)

    run_check(
        lambda call: require_samples_of(predictors, n, call(prompt, NEW_TOKENS, 0), prompt.shape[1], when, explain)
    )


def sizes_of_generation(sizes: Sizes) -> Dims:
    """Return small sizes, but the course's T_max (code may hard-code the crop) and H=4 (not 3, the number of roles)."""
    return replace(sizes.small, T_max=sizes.course.T_max, H=4, L=1)
