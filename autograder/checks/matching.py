"""Value checks: the student's class under weights set by the grader, against the oracle with and without mistakes."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from autograder.checks import ladder
from autograder.oracle import mistakes
from autograder.oracle.handle import Match, Oracle
from autograder.outcome import Failed, Notes, Partial
from autograder.sandbox.errors import Absent, Raised, StudentError
from autograder.sandbox.student import Module, Student

# Of the largest entry. Float64 comes first; where it fits nothing, float32 decides: honest code may make a constant in
# float32, and a mask may drown the scores only there. The subtlest mistakes are off by 1e-3.
EXACT, ROUNDED = 1e-9, 1e-4
PARTS = {"Head", "MultiHeadAttention", "MLP", "Block"}


@dataclass(frozen=True)
class Judged:
    """What the comparison came to, and the module with its own weights; ``match`` is None where nothing fits."""

    match: Match | None
    module: Module
    weights: dict[str, np.ndarray]
    noisy: bool = False


def against_oracle(
    oracle: Oracle,
    component: str,
    build: Callable[[bool], Module],
    inputs: Sequence[np.ndarray],
    read: Callable[[Any, np.ndarray], np.ndarray],
    sizes: Mapping[str, int],
    rng: np.random.Generator,
    probes: Mapping[str, np.ndarray] | None = None,
) -> Judged:
    """Compare the outputs for ``inputs`` with the oracle's ``component``; raises Failed where they are no tensors.

    ``build`` gives the module, in float64 or float32; ``read`` takes what it
    returned for an input and gives the tensor.
    """
    for dtype, tolerance in ((np.float64, EXACT), (np.float32, ROUNDED)):
        try:
            module, weights, cases = _run(build, inputs, read, rng, dtype)
        except Raised as error:
            if dtype is np.float32 or not re.search("dtype|scalar type", error.remote.text, re.IGNORECASE):
                raise
            continue  # honest code may make a constant in float32, which does not go together with float64
        tensors = {p.name: weights[p.name].astype(dtype) for p in module.parameters if not p.owner}
        maps = {name: matrix.astype(dtype) for name, matrix in (probes or {}).items()}
        match = oracle.identify(component, tensors, cases, sizes, maps, tolerance)
        if match is not None:
            break
    noisy = match is None and any(
        not np.array_equal(read(module(x, seed=0), x), read(module(x, seed=1), x)) for x, _ in cases
    )
    return Judged(match, module, weights, noisy)


def _run(
    build: Callable[[bool], Module],
    inputs: Sequence[np.ndarray],
    read: Callable[[Any, np.ndarray], np.ndarray],
    rng: np.random.Generator,
    dtype: type[np.floating[Any]],
) -> tuple[Module, dict[str, np.ndarray], list[tuple[np.ndarray, np.ndarray]]]:
    """The module under new weights, and what it made of ``inputs``, in one precision."""
    module = build(dtype is np.float64)
    weights = own_weights(module, rng)
    module.push(weights)
    given = [x if x.dtype == np.int64 else x.astype(dtype) for x in inputs]
    return module, weights, [(x, read(module(x), x).astype(dtype)) for x in given]


def own_weights(module: Module, rng: np.random.Generator) -> dict[str, np.ndarray]:
    """Distinct values of order 1 / sqrt(size) for matrices and of order 1 for vectors, for what no stand-in holds."""
    ladder.affordable(module)
    weights = {}
    for p in module.parameters:
        if not p.owner:
            scale = 1 / np.sqrt(max(p.shape[-1], 8)) if p.is_matrix else 0.5
            weights[p.name] = rng.standard_normal(p.shape) * scale + (not p.is_matrix)
    return weights


def costly(names: Sequence[str]) -> list[mistakes.Mistake]:
    """The mistakes among ``names`` that are not accepted."""
    return [row for row in map(mistakes.named, names) if not row.accepted]


def decide(judged: Judged, what: str, notes: Notes, elsewhere: Sequence[str] = ()) -> None:
    """Pass, or raise Partial for one known mistake, or Failed; another check judges the mistakes ``elsewhere``."""
    if judged.noisy:
        row = mistakes.named("dropout_in_eval")
        raise Failed(row.sentence, diagnosis=[(row.name, row.sentence)])
    if judged.match is None:
        raise Failed(
            f"The shape and type are right, but for the same weights {what} differs from the formula, and from all "
            f"known mistakes.",
            "Go through the formula in the docstring term by term.",
        )
    wrong = [row for row in costly(judged.match.mistakes) if row.name not in elsewhere]
    diagnosis = [(row.name, row.sentence) for row in wrong]
    remarks = [row.sentence for row in map(mistakes.named, judged.match.mistakes) if row.accepted]
    if not wrong:
        else_where = [row.sentence for row in costly(judged.match.mistakes)]
        equal = "Equal to the formula for the same weights"
        notes.say(" ".join([f"{equal}, but for one thing:", *else_where] if else_where else remarks) or f"{equal}.")
        return
    seen = " ".join(row.sentence for row in wrong)
    if len(wrong) == 1:
        raise Partial(f"{seen} Everything else in {what} is right.", diagnosis=diagnosis)
    raise Failed(seen, diagnosis=diagnosis)


def with_stand_ins(
    student: Student,
    name: str,
    sizes: Mapping[str, int],
    probes: Mapping[str, np.ndarray],
    trial: np.ndarray,
    double: bool = False,
) -> tuple[Module, bool]:
    """The class ``name`` built with linear maps in place of what the classes ``probes`` compute; whether all are used.

    A class that is a stub, absent or fails in its constructor is replaced whole. Where a class is not used at all, a
    part of its size inside the module is taken for it. ``trial`` is an input to find out with.
    """
    student.stand_in(probes, [part for part in probes if not usable(student, part)])
    try:
        module = student.build(name, sizes, double=double)
    except StudentError as error:
        if not _of_a_part(error, name):
            raise
        student.stand_in(probes, list(probes))
        module = student.build(name, sizes, double=double, apart=True)
    student.probed()
    module(trial)
    unused = [part for part, calls in student.probed().items() if not calls]
    inside = [module.stand_in(part, probes[part], sizes["d"], sizes.get("L", 1)) for part in unused]
    if unused and all(inside):
        module(trial)
        calls = student.probed()
        unused = [part for part in unused if not calls[part]]
    return module, not unused


def _of_a_part(error: StudentError, name: str) -> bool:
    """Whether building the class ``name`` may have failed because of another class."""
    if isinstance(error, Absent):
        return error.name != name
    if isinstance(error, Raised):
        return bool({frame[2].split(".")[0] for frame in error.remote.frames} & (PARTS - {name}))
    return True


def usable(student: Student, name: str) -> bool:
    """Whether the submission has a class of that name whose constructor is written."""
    try:
        found = student.written(name, "gpt")
    except Raised:
        return False
    return found is not None and "__init__" not in found[2]
