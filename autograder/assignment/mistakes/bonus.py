"""List mistakes in the optional tasks."""

from __future__ import annotations

from functools import partial

from autograder.assignment.mistakes.row import Mistake

_bonus = partial(Mistake, "bonus", "going further")

TIED_BY_COPY = _bonus(
    "tied_by_copy",
    "Both matrices hold the same values in two tensors, which diverge at the first training step.",
    "how the unembedding gets its weight",
)
TIED_INIT_STD = _bonus(
    "tied_init_std",
    "nn.Embedding is initialised with standard deviation 1, far too large for an unembedding.",
    "the initialisation of the shared matrix",
)
PRODUCTS_TRANSPOSED = _bonus(
    "products_transposed",
    "One product is transposed: x is a row vector, so W_Q multiplies it from the right.",
    "the order of the two matrices",
)
PRODUCTS_PROJ_TRANSPOSED = _bonus(
    "products_proj_transposed",
    "The OV products use the output projection's matrix transposed.",
    "the side of proj.weight that a head's output multiplies",
)
