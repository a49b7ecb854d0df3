"""List mistakes in the shape table."""

from __future__ import annotations

from functools import partial

from autograder.assignment.mistakes.row import Mistake

_shapes = partial(Mistake, "shapes", "task 5.4 (4)")

SHAPES_PRINTED = _shapes("shapes_printed", "The table is printed but not returned.", "the last line of the function")
SHAPES_TENSORS = _shapes(
    "shapes_tensors", "The rows contain whole tensors; they should contain shapes.", "the contents of each row"
)
SHAPES_REVERSED = _shapes(
    "shapes_reversed",
    "The stages are in reverse order; list them in the order of computation.",
    "the order of the rows",
)
SHAPES_WITHOUT_BATCH = _shapes(
    "shapes_without_batch", "The shapes leave out the batch axis.", "how each shape is taken from its tensor"
)
SHAPES_HARD_CODED = _shapes(
    "shapes_hard_coded",
    "A size is hard-coded in the table; at other sizes it is wrong.",
    "the shapes: take each one from a tensor that went through the model",
)
SHAPES_ROW_MISSING = _shapes(
    "shapes_row_missing",
    "One stage has no row.",
    "the rows after the embeddings, each block, the final LayerNorm and the unembedding",
)
