"""List mistakes in how Block combines its attention and its MLP."""

from __future__ import annotations

from functools import partial

from autograder.assignment.mistakes.row import Mistake

_block = partial(Mistake, "block", "task 5.3")


ROWS = (
    _block(
        "block_post_norm",
        "The LayerNorms follow the residual additions (post-norm); they belong before each sublayer (pre-norm).",
        "where the two LayerNorms are called",
        "block",
        ("post_norm",),
    ),
    _block(
        "block_norm_after_sublayer",
        "The LayerNorms are applied to the sublayers' outputs, not to their inputs.",
        "where the two LayerNorms are called",
        "block",
        ("norm_after_sublayer",),
    ),
    _block(
        "block_residual_from_norm",
        "Both residual connections add to the normalised x; they should add to x itself.",
        "the tensor that each output is added to",
        "block",
        ("residual_from_norm",),
    ),
    _block(
        "block_first_residual_from_norm",
        "The attention's output is added to the normalised x; it should be added to x itself.",
        "the tensor that the attention's output is added to",
        "block",
        ("first_residual_from_norm",),
    ),
    _block(
        "block_second_residual_from_norm",
        "The MLP's output is added to the normalised x; it should be added to x itself.",
        "the tensor that the MLP's output is added to",
        "block",
        ("second_residual_from_norm",),
    ),
    _block(
        "block_parallel",
        "Both sublayers get the block's input; the MLP should get x after the attention's residual addition.",
        "the input of the second LayerNorm",
        "block",
        ("parallel",),
    ),
    _block(
        "block_mlp_first",
        "The MLP comes before the attention.",
        "the order of the two lines of forward",
        "block",
        ("mlp_first",),
    ),
    _block(
        "block_attention_twice",
        "Both sublayers are the attention; the second should be the MLP.",
        "the second line of forward",
        "block",
        ("attention_twice",),
    ),
    _block(
        "block_mlp_twice",
        "Both sublayers are the MLP; the first should be the attention.",
        "the first line of forward",
        "block",
        ("mlp_twice",),
    ),
    _block(
        "block_no_attention",
        "The attention's output is not used: only the MLP adds to the residual stream.",
        "the first line of forward",
        "block",
        ("no_attention",),
    ),
    _block(
        "block_no_mlp",
        "The MLP's output is not used: only the attention adds to the residual stream.",
        "the second line of forward",
        "block",
        ("no_mlp",),
    ),
    _block(
        "block_no_norms",
        "The LayerNorms are created but not applied.",
        "the inputs of the two sublayers",
        "block",
        ("no_norms",),
    ),
    _block(
        "block_first_norm_missing",
        "There is no LayerNorm before the attention.",
        "the attention's input",
        "block",
        ("first_norm_missing",),
    ),
    _block(
        "block_second_norm_missing",
        "There is no LayerNorm before the MLP.",
        "the MLP's input",
        "block",
        ("second_norm_missing",),
    ),
    _block(
        "block_first_norm_twice",
        "Both sublayers use the same LayerNorm; the other one is never applied.",
        "the LayerNorm before each sublayer",
        "block",
        ("first_norm_twice",),
    ),
    _block(
        "block_no_residual",
        "There are no residual connections: both sublayers replace x.",
        "the two lines of forward",
        "block",
        ("no_residual",),
    ),
    _block(
        "block_no_first_residual",
        "The attention's output replaces x; it should be added to x.",
        "the first line of forward",
        "block",
        ("no_first_residual",),
    ),
    _block(
        "block_no_second_residual",
        "The MLP's output replaces x; it should be added to x.",
        "the second line of forward",
        "block",
        ("no_second_residual",),
    ),
    _block(
        "block_mlp_added_to_input",
        "The MLP's output is added to the block's input, so the attention's output is lost.",
        "the tensor that the MLP's output is added to",
        "block",
        ("mlp_added_to_input",),
    ),
    _block(
        "block_residual_doubled",
        "The residual stream is added one time too many, so the output contains x twice.",
        "the residual additions: one of them adds x a second time",
        "block",
        ("first_residual_doubled", "second_residual_doubled"),
    ),
    _block(
        "block_subtracts",
        "A sublayer's output is subtracted from the residual stream; it should be added.",
        "the signs in forward",
        "block",
        ("attention_subtracted", "mlp_subtracted", "both_subtracted"),
    ),
    _block(
        "constructor_arguments",
        "A part is built with the wrong arguments: perhaps their order differs from that of its __init__.",
        "the constructor call of that part",
    ),
    _block("block_norms_missing", "The block has no LayerNorms.", "the layers that __init__ creates"),
)
