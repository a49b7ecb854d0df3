"""List mistakes in the number of parameters."""

from __future__ import annotations

import math
from functools import partial

from autograder.assignment.mistakes.row import CountChange, Effect, Mistake
from autograder.assignment.oracle.parameter_count import OUTSIDE, ParameterCounts

_count = partial(Mistake, "parameters", "task 5.4 (1)")


def _scalars(c: ParameterCounts, part: str) -> int:
    """Count the parameters of a part that have a single entry."""
    return sum(math.prod(shape) == 1 for _, shape in c.tensors.get(part, ())) * (1 if part == OUTSIDE else c.dims.L)


def _count_scalars(part: str) -> CountChange:
    return CountChange(part, lambda c: _scalars(c, part), lambda c: _scalars(c, part) > 0, is_proof=True)


FINAL_NORM_MISSING = _count(
    "final_norm_missing",
    "There is no final LayerNorm.",
    "the layers that GPT creates after its blocks",
    effects=Effect.CHANGES_INITIAL_LOSS,
    counts=(CountChange(OUTSIDE, lambda c: -2 * c.dims.d, lambda c: c.has_table(c.dims.V)),),
)
POSITION_ROW_MISSING = _count(
    "position_row_missing",
    "The position embedding has one row too few.",
    "the sizes of the embeddings",
    counts=(CountChange(OUTSIDE, lambda c: -c.dims.d, lambda c: c.has_table(c.dims.T_max - 1), is_proof=True),),
    code="pos|wpe",
)
POSITION_ROW_EXTRA = _count(
    "position_row_extra",
    "The position embedding has one row too many.",
    "the sizes of the embeddings",
    counts=(CountChange(OUTSIDE, lambda c: c.dims.d, lambda c: c.has_table(c.dims.T_max + 1), is_proof=True),),
    code="pos|wpe",
)
POSITION_BATCH_AXIS = _count(
    "position_batch_axis",
    "The position embedding has a batch axis: one table per batch row.",
    "the shape of the position embedding",
    counts=(
        CountChange(
            OUTSIDE,
            lambda c: c.delta(OUTSIDE),
            lambda c: any(
                len(shape) > 2 and shape[-2:] == (c.dims.T_max, c.dims.d) for shape in c.matrix_shapes(OUTSIDE)
            ),
            is_proof=True,
        ),
    ),
    code="pos|wpe",
)
VOCABULARY_ROW_MISSING = _count(
    "vocabulary_row_missing",
    "Both V x d matrices have one row too few.",
    "the sizes of the embedding and of the unembedding",
    counts=(CountChange(OUTSIDE, lambda c: -2 * c.dims.d, lambda c: c.has_table(c.dims.V - 1), is_proof=True),),
)
EMBEDDING_MISSING = _count(
    "embedding_missing",
    "One of the two V x d matrices is missing.",
    "the token embedding and the unembedding",
    counts=(CountChange(OUTSIDE, lambda c: -c.dims.V * c.dims.d),),
)
MLP_SHARED = _count(
    "mlp_shared",
    "All L blocks share one MLP object; create a new one for each.",
    "where the MLPs are created",
    counts=(CountChange(OUTSIDE, lambda c: -c.parts["mlp"] // c.dims.L * (c.dims.L - 1), is_proof=True),),
    code=r"MLP\(",
)
BLOCKS_SHARED = _count(
    "blocks_shared",
    "All L blocks are one and the same Block object; create a new one for each.",
    "how the list of blocks is created",
    counts=(CountChange(OUTSIDE, lambda c: -c.block * (c.dims.L - 1), is_proof=True),),
    code=r"Block\(",
)
BLOCKS_NOT_REGISTERED = _count(
    "blocks_not_registered",
    "The blocks' parameters are not registered: nn.Module doesn't look into a Python list.",
    "the container that holds the blocks",
    counts=(CountChange(OUTSIDE, lambda c: -c.block * c.dims.L, is_proof=True),),
    code=r"Block\(",
)
PARAMETERS_UNUSED = _count(
    "parameters_unused",
    "All parameters beyond the expected number are unused: __init__ creates them, but no logit depends on them.",
    "the modules that forward never calls",
)
BLOCKS_NUMBER_IS_H = _count(
    "blocks_number_is_H", "GPT has H blocks; it should have L blocks of H heads.", "where L and H are used"
)
SIZES_HARD_CODED = _count(
    "sizes_hard_coded",
    "The count is right only at the course's sizes: a size is hard-coded or global.",
    "the sizes: they should come from the constructor's arguments",
)
SCALAR_EXTRA = _count(
    "scalar_extra",
    "A learnable scalar is one parameter too many; the formula has none.",
    "the nn.Parameter with a single entry",
    counts=tuple(map(_count_scalars, ("attention", "mlp", "block_norms", OUTSIDE))),
)
