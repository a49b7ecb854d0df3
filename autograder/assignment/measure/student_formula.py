"""The student's own formula for the number of parameters: its values, and its error as a term in V, T_max, d, L."""

from __future__ import annotations

import math
import reprlib
from collections.abc import Sequence
from typing import Any

from autograder.assignment import mistakes
from autograder.assignment.measure.outputs import as_number
from autograder.assignment.mistakes import Mistake
from autograder.assignment.oracle import parameter_count
from autograder.assignment.oracle.wrong_models import GPT2_STD
from autograder.assignment.sizes import Dims
from autograder.grading.verdict import Failed
from autograder.sandbox.remote.errors import StudentError
from autograder.sandbox.remote.student_code import StudentCode

EXACT = 1e-4  # relative: a student may compute in float32


def expected_loss(V: int, d: int, std: float) -> float:
    """Return the expected initial loss with an unembedding of standard deviation ``std``."""
    return math.log(V) + d * std**2 / 2


def is_expected_loss_right(student: StudentCode, n: Dims) -> bool:
    """Return whether the student's expected_initial_loss is right at these sizes, for PyTorch's std and GPT-2's."""
    for std in (1 / math.sqrt(3 * n.d), GPT2_STD):
        try:
            value = as_number(student.function("expected_initial_loss", n.V, n.d, std))
        except StudentError:
            return False
        right = expected_loss(n.V, n.d, std)
        if value is None or not abs(value - right) <= EXACT * right:
            return False
    return True


def formula_arguments(dims: Dims) -> dict[str, int]:
    """Return the arguments of the student's formula."""
    return {"V": dims.V, "T_max": dims.T_max, "d": dims.d, "L": dims.L}


def expected_entries(dims: Dims) -> dict[str, float]:
    """Return the correct values of the student's formula."""
    return {**parameter_count.parts(**formula_arguments(dims)), "total": parameter_count.total(dims)}


def call_formula(student: StudentCode, name: str, sizes: dict[str, int]) -> Any:
    """Call one of the student's formulas with model building disabled, since it has to be derived on paper."""
    return student.function(name, *sizes.values(), models=False)


def student_counts(student: StudentCode, sizes: dict[str, int]) -> dict[str, float]:
    """Return the numbers that the student's parameter_count gives for ``sizes``."""
    try:
        got = call_formula(student, "parameter_count", sizes)
    except StudentError:
        return {}
    found = (
        {name: as_number(got.get(name)) for name in (*parameter_count.PARTS, "total")} if isinstance(got, dict) else {}
    )
    return {name: value for name, value in found.items() if value is not None}


def is_formula_right(student: StudentCode, n: Dims) -> bool:
    """Return whether the total of the student's parameter_count is right at these sizes."""
    return student_counts(student, formula_arguments(n)).get("total") == parameter_count.total(n)


def compare_entries(
    name: str, sizes: dict[str, int], got: Any, expected: dict[str, float], tolerance: float
) -> tuple[str, str] | None:
    """Return the first key at which ``got`` differs from ``expected``, and the difference in words.

    Raises Failed unless ``got`` is a dict with these keys and finite numbers.
    """
    call = f"{name}({', '.join(f'{key}={value}' for key, value in sizes.items())})"
    if got is None:
        raise Failed(f"{call} returned None.", causes=[mistakes.paper.FORMULA_PRINTED])
    if not isinstance(got, dict):
        raise Failed(f"{call} returned {_describe_value(got)}, not a dict.")
    missing = [key for key in expected if key not in got]
    if missing:
        raise Failed(f"{call} has no entry {', '.join(map(repr, missing))}.", f"It should have {', '.join(expected)}.")
    for key, right in expected.items():
        value = as_number(got[key])
        if value is None:
            raise Failed(f"{call}[{key!r}] is {_describe_value(got[key])}, not a finite number.")
        if not abs(value - right) <= tolerance:
            shown = f"{value:,.4g} instead of {right:,.4g}" if tolerance else f"{value:,.0f} instead of {right:,.0f}"
            return key, f"{call}[{key!r}] is {shown}."
    return None


KNOWN = {  # (part of the student's formula, difference): mistake
    ("attention", "+3dL"): mistakes.paper.FORMULA_BIASES_ADDED,
    ("attention", "-dL"): mistakes.paper.FORMULA_BIASES_MISSING,
    ("mlp", "-5dL"): mistakes.paper.FORMULA_BIASES_MISSING,
    ("mlp", "-4dL"): mistakes.paper.FORMULA_BIASES_MISSING,
    ("mlp", "-dL"): mistakes.paper.FORMULA_BIASES_MISSING,
    ("embeddings", "-Vd"): mistakes.paper.FORMULA_TIED,
    ("final", "-Vd"): mistakes.paper.FORMULA_TIED,
}


def explain_in_letters(
    student: StudentCode, dims_used: Sequence[Dims], key: str, measured: str
) -> tuple[str, str, list[Mistake]]:
    """Return the message for one wrong entry with its error as a term, a hint, and the mistakes that explain it."""
    values = [found[key] for dims in dims_used if key in (found := student_counts(student, formula_arguments(dims)))]
    if len(values) < len(dims_used) or not all(value == round(value) for value in values):
        return measured, "", []
    if len(set(values)) == 1:
        return measured, "", [mistakes.paper.FORMULA_CONSTANT]
    term = parameter_count.as_formula(
        [(n, round(value) - round(expected_entries(n)[key])) for n, value in zip(dims_used, values, strict=True)]
    )
    if not term:
        return measured, "Which term of that part disagrees with your own class?", []
    causes = [KNOWN[key, term]] if (key, term) in KNOWN else []
    question = "" if causes else " Is that term a bias, a LayerNorm or a matrix?"
    return measured, f"At every size tried, the difference is {term}.{question}", causes


def explain_shares(shares: dict[str, Any], parts: dict[str, int]) -> list[Mistake]:
    """Return the mistake that gives exactly these percentages, if one does."""
    blocks = sum(parts[name] for name in ("attention", "mlp", "block_norms"))
    slips = {
        mistakes.paper.SHARES_AS_FRACTIONS: (1 / sum(parts.values()), 0.00051),
        mistakes.paper.SHARES_OF_BLOCKS: (100 / blocks, 0.051),
    }
    inside = {name: as_number(shares[name]) or 0 for name in ("attention", "mlp", "block_norms")}
    return [
        slip
        for slip, (factor, near) in slips.items()
        if all(abs(value - parts[name] * factor) <= near for name, value in inside.items())
    ]


def shares_of_student_counts(student: StudentCode, sizes: dict[str, int]) -> dict[str, float] | None:
    """Return the percentages that follow from the student's own parameter_count; None if it gives no numbers."""
    counted = student_counts(student, sizes)
    values = {name: counted[name] for name in parameter_count.PARTS if counted.get(name, 0) > 0}
    if len(values) < len(parameter_count.PARTS):
        return None
    return {name: 100 * value / sum(values.values()) for name, value in values.items()}


def _describe_value(value: Any) -> str:
    return (
        "None"
        if value is None
        else reprlib.repr(value)
        if isinstance(value, (int, float, str))
        else type(value).__name__
    )
