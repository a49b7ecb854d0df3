"""Mistakes in what GPT does around its blocks."""

from __future__ import annotations

from functools import partial

from autograder.oracle.mistakes.row import Mistake

_model = partial(Mistake, "model", "task 5.3")


ROWS = (
    _model("positions_missing", "There is no table of positions.", "the embeddings that __init__ makes"),
    _model(
        "positions_unused",
        "The positions are not added to the token embeddings.",
        "the first lines of forward",
        "positions",
        ("none",),
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
        "The positions are subtracted from the token embeddings; they should be added.",
        "the first lines of forward",
        "positions",
        ("subtracted",),
    ),
    _model(
        "positions_by_row",
        "Positions are looked up by row of the batch, not by place in the sequence.",
        "which axis of idx gives T",
        "positions",
        ("by row",),
    ),
    _model(
        "positions_by_token",
        "Positions are looked up by token, not by place in the sequence.",
        "what the position embedding is given",
        "positions",
        ("by token",),
    ),
    _model(
        "positions_from_one",
        "Positions start at 1; they should start at 0.",
        "what the position embedding is given",
        "positions",
        ("from one",),
    ),
    _model(
        "positions_from_the_end",
        "The last T rows of the position table are used; it should be the first T.",
        "what the position embedding is given",
        "positions",
        ("from the end",),
    ),
    _model(
        "positions_reversed",
        "Positions run backwards.",
        "what the position embedding is given",
        "positions",
        ("reversed",),
    ),
    _model(
        "positions_all_alike",
        "All positions get one and the same row of the position table.",
        "what the position embedding is given: T numbers, or one?",
        "positions",
        ("of the first", "of the last"),
    ),
    _model(
        "tokens_unused",
        "The token embeddings are not used: the blocks are given the positions alone.",
        "the first lines of forward",
        "embedding",
        ("none",),
    ),
    _model(
        "embedding_scaled",
        "Token embeddings are multiplied by sqrt(d); here they are not.",
        "the first lines of forward",
        "embedding",
        ("times sqrt d",),
    ),
    _model(
        "stack_from_embeddings",
        "Every block is given the embeddings, so that only the last block counts.",
        "the loop over the blocks: what is each one given?",
        "stack",
        ("from the embeddings",),
    ),
    _model(
        "stack_extra_residual",
        "GPT adds each block's input once more; the block does that itself.",
        "the loop over the blocks",
        "stack",
        ("extra residual",),
    ),
    _model(
        "stack_last_missing",
        "One of the L blocks is made, but not applied.",
        "where the loop over the blocks begins and ends",
        "stack",
        ("last block missing",),
    ),
    _model(
        "blocks_unused",
        "No block is applied: the final LayerNorm is given the embeddings.",
        "the loop over the blocks",
        "stack",
        ("no block",),
    ),
    _model(
        "blocks_wrong_number",
        "The number of blocks that take part is not L: is it a fixed number?",
        "where L is used",
    ),
    _model(
        "final_norm_unused",
        "The final LayerNorm is not applied, or its result is not used.",
        "the line before the unembedding",
        "final norm",
        ("none",),
    ),
    _model(
        "final_norm_first",
        "The final LayerNorm comes before the blocks; it belongs after the last one.",
        "where it is called",
        "final norm",
        ("first",),
    ),
    _model(
        "final_norm_both",
        "The final LayerNorm is applied before the blocks too; it belongs after the last one alone.",
        "where it is called",
        "final norm",
        ("both",),
    ),
    _model(
        "final_norm_in_the_loop",
        "The final LayerNorm is applied after each block; it belongs after the last one alone.",
        "the loop over the blocks",
        "final norm",
        ("in the loop",),
    ),
    _model("head_bias", "The unembedding has a bias; the formula has none there.", "the layer that makes it"),
    _model(
        "head_is_embedding",
        "The unembedding uses the token embedding's matrix, and its own is not used.",
        "the last line of forward",
        "logits",
        ("of the embedding",),
    ),
    _model(
        "logits_softmaxed",
        "forward returns probabilities; logits are what comes before the softmax.",
        "the last line of forward",
        "logits",
        ("softmax",),
    ),
    _model(
        "logits_log_softmaxed",
        "forward returns the logarithms of probabilities; logits are what comes before the softmax.",
        "the last line of forward",
        "logits",
        ("log softmax",),
    ),
    _model(
        "logits_divided",
        "The logits are divided by sqrt(d); nothing should scale them.",
        "the last line of forward",
        "logits",
        ("divided",),
    ),
)
