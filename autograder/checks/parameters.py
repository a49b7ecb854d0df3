"""How many parameters there are: exactly, at several sizes, by part, and by the student's own formula."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from autograder.assignment import Assignment, Dims
from autograder.checks.claims import Claims, backed
from autograder.checks.ladder import number
from autograder.oracle import ledger
from autograder.outcome import Failed, Notes, Partial
from autograder.sandbox.errors import StudentError
from autograder.sandbox.student import Module, Student

OUTSIDE = "outside the blocks"
TIED = "your unembedding shares its weights with the token embedding, which is the optional exercise"


@pytest.fixture(scope="module")
def model(student: Student, assignment: Assignment) -> Module:
    return built(student, assignment.course)


@pytest.fixture(scope="module")
def bound(
    student: Student, model: Module, assignment: Assignment, shared_rng: np.random.Generator, claims: Claims
) -> None:
    """Raises Failed where a right number is no more than a claim. For counts that are right."""
    if claims.about_parameters:
        raise Failed(
            claims.about_parameters, "Is each of them used, from the embeddings through all blocks to the logits?"
        )
    backed(student, model, assignment.course, shared_rng)


@pytest.mark.needs("GPT")
def test_total(
    student: Student, model: Module, assignment: Assignment, request: pytest.FixtureRequest, notes: Notes
) -> None:
    course = assignment.course
    expected = ledger.total(course)
    notes.show(counted=model.numel, expected=expected, parts=ledger.parts(course.V, course.T_max, course.d, course.L))
    if model.numel == expected or tied(model, course):
        request.getfixturevalue("bound")
    if tied(model, course):
        notes.say(f"{model.numel:,} parameters: {TIED}; untied there are {expected:,}.")
        return
    if model.numel != expected:
        seen = f"Your GPT has {model.numel:,} parameters, {_difference(model.numel - expected)} {expected:,}."
        counts = [(dims, built(student, dims).numel) for dims in assignment.others]
        causes = fitting(student, ledger.explain([(course, model.numel), *counts]), course)
        raise Failed(seen, _because(causes), [(cause.name, cause.sentence) for cause in causes])
    rule, blocks, rest = ledger.rule_of_thumb(course)
    notes.say(
        f"{model.numel:,}, to the last one. Of these the blocks hold {blocks:,}: 12 L d^2 = {rule:,} in matrices, "
        f"and {rest:,} in biases and LayerNorms."
    )


@pytest.mark.needs("GPT")
def test_other_sizes(
    student: Student,
    model: Module,
    assignment: Assignment,
    request: pytest.FixtureRequest,
    rng: np.random.Generator,
    notes: Notes,
) -> None:
    counted = {}
    at_course = model.numel != ledger.total(assignment.course)
    for dims in assignment.others:
        model = built(student, dims)
        counted[str(dims)] = model.numel
        expected = ledger.total(dims)
        if model.numel != expected and not tied(model, dims):
            raise Failed(
                f"At {dims} it has {model.numel:,} parameters, {_difference(model.numel - expected)} {expected:,}.",
                "The same cause as at the course configuration may do it."
                if at_course
                else "Does every size come from the constructor's arguments, and none from a number or a global?",
            )
        backed(student, model, dims, rng)
    request.getfixturevalue("bound")
    notes.show(counted=counted)


@pytest.mark.needs("GPT", "MultiHeadAttention", "MLP", "Block")
def test_by_part(
    student: Student, model: Module, assignment: Assignment, request: pytest.FixtureRequest, notes: Notes
) -> None:
    n = assignment.course
    counted, right = counts_by_part(student, model, n), parts_expected(n)
    notes.show(counted=counted, expected=right)
    wrong = [name for name in right if counted[name] != right[name]]
    if not wrong:
        request.getfixturevalue("bound")
    if wrong:
        seen = "; ".join(f"{name}: {counted[name]:,} instead of {right[name]:,}" for name in wrong)
        if counted[OUTSIDE] < 0:
            seen = (
                f"{n.L} of your blocks would have {model.numel - counted[OUTSIDE]:,} parameters, and the whole GPT has "
                f"{model.numel:,}: not every block counts, or some share their parts"
            )
        blame = f"The other {len(right) - len(wrong)} parts are right." if len(wrong) < len(right) else ""
        raise (Partial if len(wrong) == 1 else Failed)(f"Counted in your classes, over {n.L} blocks: {seen}.", blame)


@pytest.mark.needs("parameter_count")
def test_formula(student: Student, assignment: Assignment, rng: np.random.Generator, notes: Notes) -> None:
    for dims in (assignment.course, *unseen(rng)):
        sizes = {"V": dims.V, "T_max": dims.T_max, "d": dims.d, "L": dims.L}
        expected: dict[str, float] = dict(ledger.parts(**sizes))
        expected["total"] = ledger.total(dims)
        compare("parameter_count", sizes, student.function("parameter_count", *sizes.values()), expected, 0)
    rule, blocks, rest = ledger.rule_of_thumb(assignment.course)
    notes.say(
        f"Your formula is right at every size tried; at the course's, {blocks:,} in the blocks = {rule:,} + {rest:,}."
    )


@pytest.mark.needs("parameter_shares")
def test_shares(student: Student, assignment: Assignment, rng: np.random.Generator, notes: Notes) -> None:
    shown = ""
    for dims in (assignment.course, *unseen(rng)):
        sizes = {"V": dims.V, "T_max": dims.T_max, "d": dims.d, "L": dims.L}
        expected = {name: 100 * part / ledger.total(dims) for name, part in ledger.parts(**sizes).items()}
        shares = student.function("parameter_shares", *sizes.values())
        try:
            # Rounded to one decimal, as the handout prints them, is right too.
            compare("parameter_shares", sizes, shares, expected, 0.051)
        except Failed:
            own = of_own_formula(student, sizes)
            if own is None:
                raise
            compare("parameter_shares", sizes, shares, own, 0.051)
            notes.say("They are the percentages of your own formula, which the check above says more about.")
            return
        shown = shown or ", ".join(f"{name.replace('_', ' ')} {share:.1f} %" for name, share in expected.items())
    notes.say(f"At the course configuration: {shown}.")


# --- shared -----------------------------------------------------------------------------------------------------------


def counts_by_part(student: Student, model: Module, n: Dims) -> dict[str, int]:
    """How many parameters the classes have, over all blocks, and what is left of GPT."""
    attention = student.build("MultiHeadAttention", {"d": n.d, "H": n.H, "T_max": n.T_max}).numel
    mlp = student.build("MLP", {"d": n.d}).numel
    block = student.build("Block", {"d": n.d, "H": n.H, "T_max": n.T_max}).numel
    outside = model.numel - n.L * block + (n.V * n.d if tied(model, n) else 0)
    norms = block - attention - mlp
    return {"attention": n.L * attention, "mlp": n.L * mlp, "block_norms": n.L * norms, OUTSIDE: outside}


def parts_expected(n: Dims) -> dict[str, int]:
    """What ``counts_by_part`` should be."""
    expected = ledger.parts(n.V, n.T_max, n.d, n.L)
    inside = {name: expected[name] for name in ("attention", "mlp", "block_norms")}
    return inside | {OUTSIDE: expected["embeddings"] + expected["final"]}


def fitting(student: Student, causes: list[ledger.Cause], n: Dims) -> list[ledger.Cause]:
    """Those of ``causes`` that are in a class whose own count is wrong, and that its tensors do not rule out.

    All of them where the classes cannot be built.
    """
    try:
        counted, right = counts_by_part(student, built(student, n), n), parts_expected(n)
        heads = student.build("MultiHeadAttention", {"d": n.d, "H": n.H, "T_max": n.T_max}).parameters
    except StudentError:
        return causes
    one = sum(p.is_matrix for p in heads) <= 4  # one head's, and the projection
    apart = {"heads_shared": one, "heads_small": not one}
    return [
        cause
        for cause in causes
        if counted[cause.part or OUTSIDE] != right[cause.part or OUTSIDE] and apart.get(cause.name, True)
    ]


def built(student: Student, dims: Dims) -> Module:
    """The student's GPT at ``dims``; raises Failed where it is no nn.Module."""
    model = student.build("GPT", dims.arguments())
    if not model.is_module:
        raise Failed(
            "GPT(...) is not an nn.Module, so it has no parameters to count.", "Did the class line lose (nn.Module)?"
        )
    return model


def of_own_formula(student: Student, sizes: dict[str, int]) -> dict[str, float] | None:
    """The percentages that follow from the student's own parameter_count; None where it gives no numbers."""
    try:
        counted = student.function("parameter_count", *sizes.values())
    except StudentError:
        return None
    parts = {name: number(counted.get(name)) for name in ledger.PARTS} if isinstance(counted, dict) else {}
    values = {name: value for name, value in parts.items() if value is not None and value > 0}
    if len(values) < len(ledger.PARTS):
        return None
    return {name: 100 * value / sum(values.values()) for name, value in values.items()}


def tied(model: Module, dims: Dims) -> bool:
    """Whether exactly the V x d matrix of the untied model is missing, and one of that shape is left."""
    of_that_shape = sum(p.shape in ((dims.V, dims.d), (dims.d, dims.V)) for p in model.parameters)
    return model.numel == ledger.total(dims) - dims.V * dims.d and of_that_shape == 1


def unseen(rng: np.random.Generator) -> list[Dims]:
    """Three configurations that nobody could have prepared for, with no two sizes alike."""
    sizes = []
    for _ in range(3):
        V, T_max, d, L = (int(x) for x in rng.choice(np.arange(5, 400), 4, replace=False))
        sizes.append(Dims(V=V, T_max=T_max, d=d, H=1, L=L % 13 + 1))
    return sizes


def compare(name: str, sizes: dict[str, int], got: Any, expected: dict[str, float], tolerance: float) -> None:
    """Raise Failed unless ``got`` is a dict with the numbers of ``expected``: type, keys, finite, value."""
    call = f"{name}({', '.join(f'{key}={value}' for key, value in sizes.items())})"
    if not isinstance(got, dict):
        raise Failed(f"{call} returned {_kind(got)}, not a dict.", "Did the function print instead of return?")
    missing = [key for key in expected if key not in got]
    if missing:
        raise Failed(f"{call} has no entry {', '.join(map(repr, missing))}.", f"It should have {', '.join(expected)}.")
    for key, right in expected.items():
        value = number(got[key])
        if value is None or not math.isfinite(value):
            raise Failed(f"{call}[{key!r}] is {_kind(got[key])}, not a finite number.")
        if not abs(value - right) <= tolerance:
            shown = f"{value:,.4g} instead of {right:,.4g}" if tolerance else f"{value:,.0f} instead of {right:,.0f}"
            raise Failed(f"{call}[{key!r}] is {shown}.", _likely(key, value, right, sizes) if not tolerance else "")


def _likely(key: str, value: float, right: float, sizes: dict[str, int]) -> str:
    """A difference in the handout's letters, where it is a plain one."""
    d, L = sizes["d"], sizes["L"]
    known = {d: "d", L * d: "L d", 2 * d: "2d", 4 * L * d: "4 L d", 5 * L * d: "5 L d", sizes["V"]: "V"}
    letters = known.get(round(abs(value - right)))
    if letters is None:
        return "Which term of that part is not what your own class has?"
    done = "forgotten" if value < right else "added"
    return f"The difference is {letters}: is that a bias or a LayerNorm that was {done}?"


def _kind(value: Any) -> str:
    return "nothing" if value is None else repr(value) if isinstance(value, (int, float, str)) else type(value).__name__


def _difference(delta: int) -> str:
    return f"{abs(delta):,} {'more' if delta > 0 else 'fewer'} than"


def _because(causes: list[ledger.Cause]) -> str:
    if not causes:
        return "Compare the parts below with your own classes, term by term."
    reasons = ", or ".join(f"{cause.sentence} ({cause.term})" for cause in causes)
    return f"That is what it comes to when {reasons}."
