"""The student's shape table, compared with the shapes that hooks record."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from autograder.assignment import mistakes
from autograder.assignment.measure import outputs
from autograder.assignment.mistakes import Mistake
from autograder.assignment.sizes import Dims, Sizes
from autograder.grading.suite import Suite
from autograder.grading.verdict import Failed, Notes
from autograder.sandbox.remote.errors import Raised
from autograder.sandbox.remote.student_code import StudentCode

pytestmark = [
    pytest.mark.needs("shape_table", "GPT"),
    pytest.mark.about("shape_table"),
    pytest.mark.usefixtures("logits_depend_on_weights"),
]

Shape = tuple[int, ...]
SHOWN = 40  # rows, characters of a stage name, and sizes of a shape: a student may return any number


def test_course(suite: Suite, student: StudentCode, sizes: Sizes, rng: np.random.Generator, notes: Notes) -> None:
    """The shape table lists each stage at the course configuration."""
    n = sizes.course
    with blaming_own_model(suite, student, n):
        table = compare_table(student, n, 2, int(rng.integers(n.T_max // 4, n.T_max // 2)), rng)
    notes.record(table=[[stage[:SHOWN], list(shape[:SHOWN])] for stage, shape in table[:SHOWN]])


def test_other_sizes(suite: Suite, student: StudentCode, sizes: Sizes, rng: np.random.Generator) -> None:
    """The shape table lists each stage at sizes that are all different."""
    # B, T, d, V and L + 2 all differ, which exposes hard-coded or swapped sizes.
    with blaming_own_model(suite, student, sizes.small):
        compare_table(student, sizes.small, 5, 7, rng)


@contextlib.contextmanager
def blaming_own_model(suite: Suite, student: StudentCode, n: Dims) -> Iterator[None]:
    """If a table made with a correct GPT is wrong, raise the error of the student's own: it may be the cause."""
    try:
        yield
    except (Failed, Raised):
        if "GPT" in student.parts:
            model = suite.student.build("GPT", n.arguments())
            for T in (1, n.T_max):
                outputs.require_logits(model(np.full((1, T), n.V - 1)), (1, T, n.V))
        raise


def compare_table(student: StudentCode, n: Dims, B: int, T: int, rng: np.random.Generator) -> list[tuple[str, Shape]]:
    """Return the student's table for a model of size ``n`` and an input (B, T); raise Failed if a stage is missing.

    Stage names are free and extra rows are allowed; the order of the stages is fixed.
    """
    model = student.build("GPT", n.arguments())
    idx = rng.integers(0, n.V, (B, T))
    table = parse_rows(student.function("shape_table", model, idx))
    traced = model.trace(idx, "Block")
    logits = find_logits(traced["output"])
    stream = (B, T, n.d)
    blocks = [tuple(shape) for shape in traced["parts"]]
    if len(blocks) != n.L:  # blocks that are not Block instances: expect the residual stream
        blocks = [stream] * n.L
    # A row may have the model's actual shape or the right one, since other checks judge the model.
    stages = [("embeddings", {stream}), *((f"block {i}", {shape, stream}) for i, shape in enumerate(blocks, 1))]
    stages += [
        ("final LayerNorm", {stream}),
        ("logits", {(B, T, n.V), logits.shape if logits is not None else (B, T, n.V)}),
    ]
    rest = iter(table)
    for position, (stage, shapes) in enumerate(stages):
        if not any(found in shapes for _, found in rest):
            row = table[position] if position < len(table) else None
            given = f"yours is {row[0][:SHOWN]!r} {row[1]}" if row else f"you have {len(table)} rows"
            causes = _explain_shapes([shape for _, shape in table], [shapes for _, shapes in stages])
            raise Failed(
                f"For idx of shape {(B, T)}, row {position + 1} of {len(stages)} should be {stage} {max(shapes)}; "
                f"{given}.",
                "" if causes else "Is there a row for each stage, in the order of the computation?",
                causes,
            )
    return table


def _explain_shapes(found: list[Shape], stages: list[set[Shape]]) -> list[Mistake]:
    """Return the mistake that gives exactly these shapes, if one does."""
    fits = [shape in shapes for shape, shapes in zip(found, stages, strict=False)]
    if len(found) == len(stages):
        if all(shape in shapes for shape, shapes in zip(found[::-1], stages, strict=True)):
            return [mistakes.shapes.SHAPES_REVERSED]
        if all(any(shape == right[1:] for right in shapes) for shape, shapes in zip(found, stages, strict=True)):
            return [mistakes.shapes.SHAPES_WITHOUT_BATCH]
        if all(len(shape) == 3 and shape[:2] == max(shapes)[:2] for shape, shapes in zip(found, stages, strict=True)):
            return [mistakes.shapes.SHAPES_HARD_CODED]
    if len(found) == len(stages) - 1 and all(fits[: fits.index(False) if False in fits else len(fits)]):
        return [mistakes.shapes.SHAPES_ROW_MISSING]
    return []


def parse_rows(table: Any) -> list[tuple[str, Shape]]:
    """Read a list, tuple or dict as (stage, shape) pairs; raise Failed at the first row that isn't one."""
    if isinstance(table, dict):
        table = list(table.items())
    if not isinstance(table, (list, tuple)):
        if table is None:
            raise Failed("shape_table returned None instead of L + 3 rows.", causes=[mistakes.shapes.SHAPES_PRINTED])
        raise Failed(f"shape_table returned a {type(table).__name__}; it should return a list of (stage, shape).")
    found = []
    for number, row in enumerate(table, 1):
        if not isinstance(row, (list, tuple)) or len(row) != 2:
            raise Failed(f"Row {number} of the shape table is not a pair (stage, shape).")
        stage, shape = row
        if isinstance(shape, np.ndarray) and shape.ndim != 1:
            raise Failed(
                f"Row {number} of the shape table has a tensor of shape {shape.shape} instead of its shape.",
                causes=[mistakes.shapes.SHAPES_TENSORS],
            )
        sizes = list(shape) if isinstance(shape, (list, tuple, np.ndarray)) else []
        if not isinstance(shape, (list, tuple, np.ndarray)) or not all(_is_size(size) for size in sizes):
            raise Failed(f"Row {number} of the shape table has {shape!r} instead of a shape.")
        found.append((str(stage), tuple(int(size) for size in sizes)))
    return found


def find_logits(output: Any) -> np.ndarray | None:
    """Return the model's logits, unvalidated; None if they are not found."""
    if isinstance(output, dict):
        output = output.get("logits")
    if isinstance(output, (tuple, list)) and output:
        output = output[0]
    return output if isinstance(output, np.ndarray) and output.ndim else None


def _is_size(size: Any) -> bool:
    return isinstance(size, (int, np.integer)) and not isinstance(size, bool) and bool(0 <= size < 1 << 40)
