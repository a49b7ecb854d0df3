"""How many parameters there are: exactly, at several sizes, by part, and by the student's own formula."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from autograder.assignment import Assignment, Dims
from autograder.checks.ladder import number
from autograder.oracle import ledger
from autograder.outcome import Failed, Notes, Partial
from autograder.sandbox.student import Module, Student

TIED = "your unembedding shares its weights with the token embedding, which is the optional exercise"


@pytest.fixture(scope="module")
def model(student: Student, assignment: Assignment) -> Module:
    return built(student, assignment.course)


@pytest.mark.needs("GPT")
@pytest.mark.usefixtures("counts")
def test_total(student: Student, model: Module, assignment: Assignment, notes: Notes) -> None:
    course = assignment.course
    expected = ledger.total(course)
    notes.show(counted=model.numel, expected=expected, parts=ledger.parts(course.V, course.T_max, course.d, course.L))
    if tied(model, course):
        notes.say(f"{model.numel:,} parameters: {TIED}; untied there are {expected:,}.")
        return
    if model.numel != expected:
        seen = f"Your GPT has {model.numel:,} parameters, {_difference(model.numel - expected)} {expected:,}."
        counts = [(dims, built(student, dims).numel) for dims in assignment.others]
        causes = ledger.explain([(course, model.numel), *counts])
        raise Failed(seen, _because(causes), [(cause.name, cause.sentence) for cause in causes])
    rule, blocks, rest = ledger.rule_of_thumb(course)
    notes.say(
        f"{model.numel:,}, to the last one. Of these the blocks hold {blocks:,}: 12 L d^2 = {rule:,} in matrices, "
        f"and {rest:,} in biases and LayerNorms."
    )


@pytest.mark.needs("GPT")
@pytest.mark.usefixtures("counts")
def test_other_sizes(student: Student, assignment: Assignment, notes: Notes) -> None:
    counted = {}
    for dims in assignment.others:
        model = built(student, dims)
        counted[str(dims)] = model.numel
        expected = ledger.total(dims)
        if model.numel != expected and not tied(model, dims):
            raise Failed(
                f"At {dims} it has {model.numel:,} parameters, {_difference(model.numel - expected)} {expected:,}.",
                "Does every size come from the constructor's arguments, and none from a number or a global?",
            )
    notes.show(counted=counted)


@pytest.mark.needs("GPT", "MultiHeadAttention", "MLP", "Block")
@pytest.mark.usefixtures("counts")
def test_by_part(student: Student, model: Module, assignment: Assignment, notes: Notes) -> None:
    n = assignment.course
    expected = ledger.parts(n.V, n.T_max, n.d, n.L)
    attention = student.build("MultiHeadAttention", {"d": n.d, "H": n.H, "T_max": n.T_max}).numel
    mlp = student.build("MLP", {"d": n.d}).numel
    block = student.build("Block", {"d": n.d, "H": n.H, "T_max": n.T_max}).numel
    outside = model.numel - n.L * block
    counted = {
        "attention": n.L * attention,
        "mlp": n.L * mlp,
        "block_norms": n.L * (block - attention - mlp),
        "outside the blocks": outside + (n.V * n.d if tied(model, n) else 0),
    }
    right = {name: expected[name] for name in ("attention", "mlp", "block_norms")}
    right["outside the blocks"] = expected["embeddings"] + expected["final"]
    notes.show(counted=counted, expected=right)
    wrong = [name for name in right if counted[name] != right[name]]
    if wrong:
        seen = "; ".join(f"{name}: {counted[name]:,} instead of {right[name]:,}" for name in wrong)
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
        # Rounded to one decimal, as the handout prints them, is right too.
        compare("parameter_shares", sizes, student.function("parameter_shares", *sizes.values()), expected, 0.051)
        shown = shown or ", ".join(f"{name.replace('_', ' ')} {share:.1f} %" for name, share in expected.items())
    notes.say(f"At the course configuration: {shown}.")


# --- shared -----------------------------------------------------------------------------------------------------------


def built(student: Student, dims: Dims) -> Module:
    """The student's GPT at ``dims``; raises Failed where it is no nn.Module."""
    model = student.build("GPT", dims.arguments())
    if not model.is_module:
        raise Failed(
            "GPT(...) is not an nn.Module, so it has no parameters to count.", "Did the class line lose (nn.Module)?"
        )
    return model


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
