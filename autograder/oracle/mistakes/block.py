"""Mistakes in Block, around its attention and its MLP."""

from __future__ import annotations

from functools import partial

from autograder.oracle.mistakes.row import Mistake

_block = partial(Mistake, "block", "task 5.3")


ROWS = (
    _block(
        "block_post_norm",
        "The norms come after the sums (post-norm); here each sublayer reads through its norm (pre-norm).",
        "where the two norms are called",
        "block",
        ("post-norm",),
    ),
    _block(
        "block_norm_after_sublayer",
        "The norms are applied to what the sublayers give, not to what they read.",
        "where the two norms are called",
        "block",
        ("norm after sublayer",),
    ),
    _block(
        "block_residual_of_normed",
        "Both sums start from the normed stream; they should start from the stream itself.",
        "which x is added to",
        "block",
        ("residual around normed",),
    ),
    _block(
        "block_first_residual_of_normed",
        "The first sum starts from the normed stream; it should start from the stream itself.",
        "which x the attention's result is added to",
        "block",
        ("first residual around normed",),
    ),
    _block(
        "block_second_residual_of_normed",
        "The second sum starts from the normed stream; it should start from the stream itself.",
        "which x the MLP's result is added to",
        "block",
        ("second residual around normed",),
    ),
    _block(
        "block_parallel",
        "Both sublayers read the block's input; the MLP should read the sum that the attention made.",
        "what the second norm is given",
        "block",
        ("parallel",),
    ),
    _block(
        "block_mlp_first",
        "The MLP comes before the attention.",
        "the order of the two lines of forward",
        "block",
        ("mlp first",),
    ),
    _block(
        "block_attention_twice",
        "The attention is applied in both places, and the MLP in none.",
        "the second line of forward",
        "block",
        ("attention twice",),
    ),
    _block(
        "block_mlp_twice",
        "The MLP is applied in both places, and the attention in none.",
        "the first line of forward",
        "block",
        ("mlp twice",),
    ),
    _block(
        "block_no_attention",
        "What the attention gives is not used: only the MLP adds to the stream.",
        "the first line of forward",
        "block",
        ("no attention",),
    ),
    _block(
        "block_no_mlp",
        "What the MLP gives is not used: only the attention adds to the stream.",
        "the second line of forward",
        "block",
        ("no mlp",),
    ),
    _block(
        "block_no_norms",
        "The LayerNorms are there, but not applied.",
        "what the two sublayers are given",
        "block",
        ("no norms",),
    ),
    _block(
        "block_first_norm_missing",
        "The attention reads the stream without a norm.",
        "what the attention is given",
        "block",
        ("first norm missing",),
    ),
    _block(
        "block_second_norm_missing",
        "The MLP reads the stream without a norm.",
        "what the MLP is given",
        "block",
        ("second norm missing",),
    ),
    _block(
        "block_first_norm_twice",
        "One LayerNorm is used for both sublayers, although there are two.",
        "which norm each sublayer reads through",
        "block",
        ("first norm twice",),
    ),
    _block(
        "block_no_residual",
        "Neither sublayer adds to the stream: both replace it.",
        "the sums: where is x added?",
        "block",
        ("no residual",),
    ),
    _block(
        "block_no_first_residual",
        "The attention replaces the stream, where it should add to it.",
        "the first line of forward: is x added?",
        "block",
        ("no first residual",),
    ),
    _block(
        "block_no_second_residual",
        "The MLP replaces the stream, where it should add to it.",
        "the second line of forward: is x added?",
        "block",
        ("no second residual",),
    ),
    _block(
        "block_second_from_input",
        "The MLP's output is added to the block's input, so that the attention's own sum is lost.",
        "which x the MLP's result is added to",
        "block",
        ("second from input",),
    ),
    _block(
        "block_stream_doubled",
        "The stream itself is added once too often: what comes out holds x twice.",
        "the sums: is x added where it is in the sum already?",
        "block",
        ("first doubled", "second doubled"),
    ),
    _block(
        "block_subtracts",
        "What a sublayer gives is subtracted from the stream; it should be added.",
        "the signs in forward",
        "block",
        ("first subtracted", "second subtracted", "both subtracted"),
    ),
    _block("block_norms_missing", "The block has no LayerNorms.", "what the block is made of"),
)
