"""The number of parameters: exactly, at several sizes, by part, and by the student's own formula."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest

from autograder.assignment import mistakes
from autograder.assignment.measure import student_formula
from autograder.assignment.measure.parameter_usage import Claims, require_used_parameters, shapes, unused_parameters
from autograder.assignment.mistakes import Effect, Mistake
from autograder.assignment.oracle import parameter_count
from autograder.assignment.sizes import Dims, Sizes
from autograder.grading.verdict import Failed, Notes, Partial
from autograder.sandbox.remote.errors import NotDefined, StudentError
from autograder.sandbox.remote.proxy import ModuleProxy
from autograder.sandbox.remote.student_code import StudentCode

# "deducted" even where only a cause asks for it, so that the classes' own checks always run first.
pytestmark = pytest.mark.usefixtures("deducted")
PART_NAMES = {"block_norms": "the rest of each Block (its LayerNorms)"}
TIED = "your unembedding shares its weights with the token embedding, which is the optional exercise"


@pytest.fixture(scope="module")
def model(student: StudentCode, sizes: Sizes) -> ModuleProxy:
    """Build GPT at the course configuration."""
    return build_gpt(student, sizes.course)


@pytest.fixture(scope="module")
def explanation(
    student: StudentCode, sizes: Sizes, deducted: set[Mistake], module_rng: np.random.Generator
) -> tuple[str, list[Mistake], bool]:
    """Explain a wrong total: a hint, the mistakes that fit, and whether any one of them is enough."""
    hint, causes, either = find_causes(student, (sizes.course, *sizes.others), deducted)
    if not causes and are_extra_unused(student, replace(sizes.small, L=1), module_rng):
        return hint, [mistakes.parameters.PARAMETERS_UNUSED], False
    if not causes and mistakes.block.CONSTRUCTOR_ARGUMENTS in deducted:
        return "", [mistakes.block.CONSTRUCTOR_ARGUMENTS], False
    return hint, causes, either


@pytest.fixture(scope="module")
def require_counted_parameters_used(
    student: StudentCode,
    model: ModuleProxy,
    sizes: Sizes,
    module_rng: np.random.Generator,
    claims: Claims,
    deducted: set[Mistake],
) -> None:
    """Raise Failed if a correct count includes parameters that the model does not use."""
    # The class's own check deducts for submodules that are never called.
    if message := claims.about_parameters or (
        "" if mistakes.filter_by_effect(Effect.LEAVES_PARAMETERS_UNUSED, deducted) else claims.unused
    ):
        raise Failed(message, "" if claims.causes else claims.hint, claims.causes)
    require_used_parameters(student, model, sizes.course, module_rng)


@pytest.mark.needs("GPT")
def test_total(
    student: StudentCode,
    model: ModuleProxy,
    sizes: Sizes,
    request: pytest.FixtureRequest,
    notes: Notes,
) -> None:
    """GPT has exactly the expected number of parameters at the course configuration."""
    course = sizes.course
    expected = parameter_count.total(course)
    notes.record(
        counted=model.numel, expected=expected, parts=parameter_count.parts(course.V, course.T_max, course.d, course.L)
    )
    if model.numel == expected or is_tied(model, course):
        request.getfixturevalue("require_counted_parameters_used")
    if is_tied(model, course):
        notes.remark(f"{model.numel:,} parameters: {TIED}; without tying there would be {expected:,}.")
        return
    if model.numel != expected:
        measured = f"Your GPT has {model.numel:,} parameters, {_more_or_fewer(model.numel - expected)} {expected:,}."
        dims_used = (course, *sizes.others)
        deltas = [(dims, build_gpt(student, dims).numel - parameter_count.total(dims)) for dims in dims_used]
        hint, causes, either = request.getfixturevalue("explanation")
        if (term := parameter_count.as_formula(deltas)) and term != f"{deltas[0][1]:+}":
            hint = f"The difference is {deltas[0][1]:+,} = {term}. {hint}".strip()
        raise Failed(measured, hint, causes, either)


@pytest.mark.needs("GPT")
def test_other_sizes(
    student: StudentCode,
    model: ModuleProxy,
    sizes: Sizes,
    request: pytest.FixtureRequest,
    rng: np.random.Generator,
    notes: Notes,
) -> None:
    """GPT has exactly the expected number of parameters at other sizes."""
    counted = {}
    at_course = model.numel != parameter_count.total(sizes.course)
    for dims in sizes.others:
        model = build_gpt(student, dims)
        counted[str(dims)] = model.numel
        expected = parameter_count.total(dims)
        if model.numel != expected and not is_tied(model, dims):
            measured = (
                f"At {dims}, GPT has {model.numel:,} parameters, {_more_or_fewer(model.numel - expected)} {expected:,}."
            )
            if at_course:
                raise Failed(measured, *request.getfixturevalue("explanation"))
            is_swapped = all(
                build_gpt(student, n).numel == parameter_count.total(replace(n, L=n.H, H=1)) for n in sizes.others
            )
            cause = mistakes.parameters.BLOCKS_NUMBER_IS_H if is_swapped else mistakes.parameters.SIZES_HARD_CODED
            raise Failed(measured, causes=[cause])
        require_used_parameters(student, model, dims, rng)
    request.getfixturevalue("require_counted_parameters_used")
    notes.record(counted=counted)


@pytest.mark.needs("GPT", "MultiHeadAttention", "MLP", "Block")
def test_by_part(
    student: StudentCode, model: ModuleProxy, sizes: Sizes, request: pytest.FixtureRequest, notes: Notes
) -> None:
    """Each part has the expected number of parameters, counted in the student's classes."""
    n = sizes.course
    found, right = count_parameters(student, n), parameter_count.expected_counts(n)
    counts = found.parts
    notes.record(counted=counts, expected=right)
    wrong = [name for name in right if counts[name] != right[name]]
    if not wrong:
        request.getfixturevalue("require_counted_parameters_used")
    if wrong:
        measured = "; ".join(
            f"{PART_NAMES.get(name, name)}: {counts[name]:,} instead of {right[name]:,}" for name in wrong
        )
        if counts[parameter_count.OUTSIDE] < 0:
            measured = (
                f"{n.L} separate blocks have {n.L * found.block:,} parameters, but your GPT has {model.numel:,}: "
                f"some blocks aren't registered, or share their parameters"
            )
        shared = counts[parameter_count.OUTSIDE] < 0
        blame = (
            f"The other {len(right) - len(wrong)} parts are correct." if len(wrong) < len(right) and not shared else ""
        )
        causes, either = list[Mistake](), False
        if model.numel != parameter_count.total(n):
            _, causes, either = request.getfixturevalue("explanation")
        raise (Partial if len(wrong) == 1 else Failed)(
            f"Counted in your classes, for {n.L} blocks: {measured}.", blame, causes, either
        )


@pytest.mark.needs("parameter_count")
def test_formula(student: StudentCode, sizes: Sizes, rng: np.random.Generator, notes: Notes) -> None:
    """The student's formula gives the right count for each part, at any sizes."""
    dims_used = (sizes.course, *draw_dims(rng))
    for dims in dims_used:
        letters = student_formula.formula_arguments(dims)
        given = student_formula.call_formula(student, "parameter_count", letters)
        wrong = student_formula.compare_entries(
            "parameter_count", letters, given, student_formula.expected_entries(dims), 0
        )
        if wrong:
            key, measured = wrong
            raise Failed(*student_formula.explain_in_letters(student, dims_used, key, measured))
    notes.remark("Your formula is correct at every size tried.")


@pytest.mark.needs("parameter_shares")
def test_percentages(student: StudentCode, sizes: Sizes, rng: np.random.Generator, notes: Notes) -> None:
    """The percentages of the parts are right to one decimal, at any sizes."""
    shown = ""
    for dims in (sizes.course, *draw_dims(rng)):
        letters = student_formula.formula_arguments(dims)
        parts = parameter_count.parts(**letters)
        expected = {name: 100 * part / parameter_count.total(dims) for name, part in parts.items()}
        shares = student_formula.call_formula(student, "parameter_shares", letters)
        # One decimal is enough, as in the handout.
        wrong = student_formula.compare_entries("parameter_shares", letters, shares, expected, 0.051)
        if wrong:
            own = student_formula.shares_of_student_counts(student, letters)
            wrong = student_formula.compare_entries("parameter_shares", letters, shares, own, 0.051) if own else wrong
            if wrong:
                raise Failed(wrong[1], causes=student_formula.explain_shares(shares, parts))
            notes.remark("The percentages follow from your own formula; see the check of the formula.")
            return
        shown = shown or ", ".join(f"{name.replace('_', ' ')} {share:.1f}%" for name, share in expected.items())
    notes.remark(f"At the course configuration: {shown}.")


# --- shared -----------------------------------------------------------------------------------------------------------


def count_parameters(student: StudentCode, n: Dims) -> parameter_count.ParameterCounts:
    """Count the parameters of each class over all blocks, and those of the rest of GPT, with the tensors."""
    sizes = {"d": n.d, "H": n.H, "T_max": n.T_max}
    attention = student.shared("MultiHeadAttention", sizes)
    mlp = student.shared("MLP", {"d": n.d})
    block = student.shared("Block", sizes)
    model = build_gpt(student, n)
    around_sublayers, inline = shapes(block.parameters), []
    for name, part in (("attention", attention), ("mlp", mlp)):
        rest = subtract_tensors(around_sublayers, shapes(part.parameters))
        if len(rest) == len(around_sublayers):
            inline.append(name)
        around_sublayers = rest
    norms = block.numel - attention.numel - mlp.numel
    outside = model.numel - n.L * block.numel + (n.V * n.d if is_tied(model, n) else 0)
    around = shapes(model.parameters)
    for _ in range(n.L):
        around = subtract_tensors(around, shapes(block.parameters))
    return parameter_count.ParameterCounts(
        dims=n,
        parts={
            "attention": n.L * attention.numel,
            "mlp": n.L * mlp.numel,
            "block_norms": n.L * norms,
            parameter_count.OUTSIDE: outside,
        },
        block=block.numel,
        tensors={
            "attention": shapes(attention.parameters),
            "mlp": shapes(mlp.parameters),
            "block_norms": around_sublayers,
            parameter_count.OUTSIDE: around,
        },
        inline=tuple(inline),
    )


def subtract_tensors(whole: parameter_count.Shapes, part: parameter_count.Shapes) -> parameter_count.Shapes:
    """Return the tensors of ``whole`` without one occurrence of ``part``, found by its tensors' names."""
    names = dict(whole)
    for name, _ in whole:
        path = name.removesuffix(part[0][0]) if part else name
        if path != name and all(names.get(path + own) == shape for own, shape in part):
            return [(name, shape) for name, shape in whole if not name.startswith(path)]
    return whole


def find_causes(student: StudentCode, sizes: Sequence[Dims], deducted: set[Mistake]) -> tuple[str, list[Mistake], bool]:
    """Return a hint, the mistakes that fit each class's counts and tensors, and whether any single one is enough.

    A mistake inside a class is named only if the class's own check has seen it in the outputs, unless its tensors
    prove it. If two fit, mistakes that are already deducted take precedence.
    """
    try:
        counted = [count_parameters(student, n) for n in sizes]
    except NotDefined as error:
        return f"{error}.", [], False
    except StudentError as error:
        return f"{error.call} could not be built; its own check says why.", [], False
    except Failed:
        return "Which of your classes has extra or missing parameters?", [], False
    found = mistakes.explain_counts(counted, deducted)
    common = set.intersection(*map(set, found.values()))
    remaining = {
        part: [row for row in rows if row in deducted] or [row for row in rows if row in common] or rows
        for part, rows in found.items()
    }
    described = [parameter_count.describe_difference(counted[0], part) for part, rows in remaining.items() if not rows]
    if described:
        return " ".join(described), [], False
    causes = list(dict.fromkeys(row for rows in remaining.values() for row in rows))
    return "", causes, len(remaining) == 1 and len(causes) > 1


def are_extra_unused(student: StudentCode, n: Dims, rng: np.random.Generator) -> bool:
    """Return whether exactly the parameters beyond the expected number have no effect, in a small model."""
    try:
        model = build_gpt(student, n)
        unused = sum(p.size for p in unused_parameters(model, n, rng))
    except (Failed, StudentError):
        return False
    return unused > 0 and unused == model.numel - parameter_count.total(n)


def build_gpt(student: StudentCode, dims: Dims) -> ModuleProxy:
    """Build the student's GPT at ``dims``."""
    return student.shared("GPT", dims.arguments())


def is_tied(model: ModuleProxy, dims: Dims) -> bool:
    """Return whether exactly one V x d matrix of the untied model is missing, and one is left."""
    of_that_shape = sum(p.shape in ((dims.V, dims.d), (dims.d, dims.V)) for p in model.parameters)
    return model.numel == parameter_count.total(dims) - dims.V * dims.d and of_that_shape == 1


def draw_dims(rng: np.random.Generator) -> list[Dims]:
    """Draw three unpredictable configurations, each with distinct sizes."""
    sizes = []
    for _ in range(3):
        V, T_max, d, L = (int(x) for x in rng.choice(np.arange(5, 400), 4, replace=False))
        sizes.append(Dims(V=V, T_max=T_max, d=d, H=1, L=L % 13 + 1))
    return sizes


def _more_or_fewer(delta: int) -> str:
    return f"{abs(delta):,} {'more' if delta > 0 else 'fewer'} than"
