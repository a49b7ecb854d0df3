"""List mistakes in the number of parameters."""

from __future__ import annotations

from functools import partial

from autograder.assignment.mistakes.row import Mistake

_count = partial(Mistake, "parameters", "task 5.4 (1)")

ROWS = (
    _count("final_norm_missing", "There is no final LayerNorm.", "the layers that GPT creates after its blocks"),
    _count("position_row_missing", "The position embedding has one row too few.", "the sizes of the embeddings"),
    _count("position_row_extra", "The position embedding has one row too many.", "the sizes of the embeddings"),
    _count(
        "position_batch_axis",
        "The position embedding has a batch axis: one table per batch row.",
        "the shape of the position embedding",
    ),
    _count(
        "vocabulary_row_missing",
        "Both V x d matrices have one row too few.",
        "the sizes of the embedding and of the unembedding",
    ),
    _count(
        "embedding_missing",
        "One of the two V x d matrices is missing.",
        "the token embedding and the unembedding",
    ),
    _count("mlp_shared", "All L blocks share one MLP object; create a new one for each.", "where the MLPs are created"),
    _count(
        "blocks_shared",
        "All L blocks are one and the same Block object; create a new one for each.",
        "how the list of blocks is created",
    ),
    _count(
        "blocks_not_registered",
        "The blocks' parameters are not registered: nn.Module doesn't look into a Python list.",
        "the container that holds the blocks",
    ),
    _count(
        "parameters_unused",
        "All parameters beyond the expected number are unused: __init__ creates them, but no logit depends on them.",
        "the modules that forward never calls",
    ),
    _count(
        "sizes_hard_coded",
        "The count is right only at the course's sizes: a size is hard-coded or global.",
        "the sizes: they should come from the constructor's arguments",
    ),
)
