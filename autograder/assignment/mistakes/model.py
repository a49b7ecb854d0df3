"""List mistakes in GPT outside its blocks."""

from __future__ import annotations

from functools import partial

from autograder.assignment.mistakes.row import Mistake

_model = partial(Mistake, "model", "task 5.3")


ROWS = (
    _model("positions_missing", "There are no position embeddings.", "the embeddings that __init__ creates"),
    _model(
        "positions_unused",
        "The position embeddings are not added to the token embeddings.",
        "the first lines of forward",
        "positions",
        ("unused",),
    ),
    _model(
        "positions_multiplied",
        "Token and position embeddings are multiplied; they should be added.",
        "the first lines of forward",
        "positions",
        ("multiplied",),
    ),
    _model(
        "positions_subtracted",
        "The position embeddings are subtracted from the token embeddings; they should be added.",
        "the first lines of forward",
        "positions",
        ("subtracted",),
    ),
    _model(
        "positions_by_batch_row",
        "The position embedding is indexed by batch row, not by position.",
        "the axis of idx that T comes from",
        "positions",
        ("by_batch_row",),
    ),
    _model(
        "positions_by_token",
        "The position embedding is indexed by token, not by position.",
        "the input of the position embedding",
        "positions",
        ("by_token",),
    ),
    _model(
        "positions_start_at_one",
        "Positions start at 1; they should start at 0.",
        "the input of the position embedding",
        "positions",
        ("start_at_one",),
    ),
    _model(
        "positions_last_T",
        "The last T position embeddings are used; they should be the first T.",
        "the input of the position embedding",
        "positions",
        ("last_T",),
    ),
    _model(
        "positions_reversed",
        "The positions are in reverse order.",
        "the input of the position embedding",
        "positions",
        ("reversed",),
    ),
    _model(
        "positions_constant",
        "All positions get the same position embedding.",
        "the input of the position embedding: it needs T indices",
        "positions",
        ("all_first", "all_last"),
    ),
    _model(
        "tokens_unused",
        "The token embeddings are not used: the blocks get only the position embeddings.",
        "the first lines of forward",
        "embedding",
        ("unused",),
    ),
    _model(
        "embedding_scaled",
        "Token embeddings are multiplied by sqrt(d); here they should not be.",
        "the first lines of forward",
        "embedding",
        ("scaled",),
    ),
    _model(
        "blocks_all_get_embeddings",
        "Every block gets the embeddings as input, so only the last block matters.",
        "the loop over the blocks: the input of each one",
        "blocks",
        ("all_get_embeddings",),
    ),
    _model(
        "blocks_extra_residual",
        "GPT adds each block's input again; the block already does that.",
        "the loop over the blocks",
        "blocks",
        ("extra_residual",),
    ),
    _model(
        "last_block_unused",
        "One of the L blocks is created but not applied.",
        "the range of the loop over the blocks",
        "blocks",
        ("last_unused",),
    ),
    _model(
        "blocks_unused",
        "No block is applied: the embeddings go straight to the final LayerNorm.",
        "the loop over the blocks",
        "blocks",
        ("unused",),
    ),
    _model(
        "blocks_wrong_number",
        "The number of blocks is not L; it may be hard-coded.",
        "where L is used",
    ),
    _model(
        "final_norm_unused",
        "The final LayerNorm is not applied, or its result is discarded.",
        "the line before the unembedding",
        "final_norm",
        ("unused",),
    ),
    _model(
        "final_norm_first",
        "The final LayerNorm is applied before the blocks; it belongs after the last one.",
        "where the final LayerNorm is called",
        "final_norm",
        ("first",),
    ),
    _model(
        "final_norm_both",
        "The final LayerNorm is also applied before the blocks; it belongs only after the last one.",
        "where the final LayerNorm is called",
        "final_norm",
        ("both",),
    ),
    _model(
        "final_norm_in_the_loop",
        "The final LayerNorm is applied after every block; it belongs only after the last one.",
        "the loop over the blocks",
        "final_norm",
        ("in_the_loop",),
    ),
    _model("head_bias", "The unembedding has a bias; the formula has none.", "how the unembedding is created"),
    _model(
        "head_is_embedding",
        "The unembedding uses the token embedding's matrix; its own is not used.",
        "the last line of forward",
        "logits",
        ("from_embedding",),
    ),
    _model(
        "logits_are_probabilities",
        "forward returns probabilities; it should return the logits, before any softmax.",
        "the last line of forward",
        "logits",
        ("probabilities",),
    ),
    _model(
        "logits_are_log_probabilities",
        "forward returns log-probabilities; it should return the logits, before any softmax.",
        "the last line of forward",
        "logits",
        ("log_probabilities",),
    ),
    _model(
        "logits_scaled",
        "The logits are divided by sqrt(d); they should not be scaled.",
        "the last line of forward",
        "logits",
        ("scaled",),
    ),
)
