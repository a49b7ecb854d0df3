"""List mistakes in how Block combines its attention and its MLP."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

from autograder.assignment.mistakes.row import CountChange, Effect, Mistake
from autograder.assignment.oracle.model import Function, Steps, Sublayers

if TYPE_CHECKING:
    from torch import Tensor

_block = partial(Mistake, "block", "task 5.3")

Sublayer = Callable[["Tensor", Function, Function], "Tensor"]  # of its input, its norm and its layer


def _compose(first: Sublayer, second: Sublayer) -> Sublayers:
    """Return a block of two sublayers."""
    return lambda x, norm1, attn, norm2, mlp: second(first(x, norm1, attn), norm2, mlp)


def _right(x: Tensor, norm: Function, layer: Function) -> Tensor:
    return x + layer(norm(x))


def _post_norm(x: Tensor, norm: Function, layer: Function) -> Tensor:
    return norm(x + layer(x))


def _norm_after(x: Tensor, norm: Function, layer: Function) -> Tensor:
    return x + norm(layer(x))


def _from_norm(x: Tensor, norm: Function, layer: Function) -> Tensor:
    return norm(x) + layer(norm(x))


def _no_norm(x: Tensor, norm: Function, layer: Function) -> Tensor:
    return x + layer(x)


def _no_residual(x: Tensor, norm: Function, layer: Function) -> Tensor:
    return layer(norm(x))


def _output_twice(x: Tensor, norm: Function, layer: Function) -> Tensor:
    return 2 * layer(norm(x))


def _doubled(x: Tensor, norm: Function, layer: Function) -> Tensor:
    return 2 * x + layer(norm(x))


def _subtracted(x: Tensor, norm: Function, layer: Function) -> Tensor:
    return x - layer(norm(x))


def _unused(x: Tensor, norm: Function, layer: Function) -> Tensor:
    return x


BLOCK_POST_NORM = _block(
    "block_post_norm",
    "The LayerNorms follow the residual additions (post-norm); they belong before each sublayer (pre-norm).",
    "where the two LayerNorms are called",
    steps=(Steps(sublayers=_compose(_post_norm, _post_norm)),),
    effects=Effect.CHANGES_RESIDUAL_STREAM,
)
BLOCK_NORM_AFTER_SUBLAYER = _block(
    "block_norm_after_sublayer",
    "The LayerNorms are applied to the sublayers' outputs, not to their inputs.",
    "where the two LayerNorms are called",
    steps=(Steps(sublayers=_compose(_norm_after, _norm_after)),),
    effects=Effect.CHANGES_RESIDUAL_STREAM,
)
BLOCK_RESIDUAL_FROM_NORM = _block(
    "block_residual_from_norm",
    "Both residual connections add to the normalised x; they should add to x itself.",
    "the tensor that each output is added to",
    steps=(Steps(sublayers=_compose(_from_norm, _from_norm)),),
    effects=Effect.CHANGES_RESIDUAL_STREAM,
)
BLOCK_FIRST_RESIDUAL_FROM_NORM = _block(
    "block_first_residual_from_norm",
    "The attention's output is added to the normalised x; it should be added to x itself.",
    "the tensor that the attention's output is added to",
    steps=(Steps(sublayers=_compose(_from_norm, _right)),),
    effects=Effect.CHANGES_RESIDUAL_STREAM,
)
BLOCK_SECOND_RESIDUAL_FROM_NORM = _block(
    "block_second_residual_from_norm",
    "The MLP's output is added to the normalised x; it should be added to x itself.",
    "the tensor that the MLP's output is added to",
    steps=(Steps(sublayers=_compose(_right, _from_norm)),),
    effects=Effect.CHANGES_RESIDUAL_STREAM,
)
BLOCK_PARALLEL = _block(
    "block_parallel",
    "Both sublayers get the block's input; the MLP should get x after the attention's residual addition.",
    "the input of the second LayerNorm",
    steps=(Steps(sublayers=lambda x, norm1, attn, norm2, mlp: x + attn(norm1(x)) + mlp(norm2(x))),),
)
BLOCK_MLP_WITHOUT_STREAM = _block(
    "block_mlp_without_stream",
    "The MLP gets only the attention's output; it should get x after the attention's residual addition.",
    "the input of the second LayerNorm",
    steps=(Steps(sublayers=lambda x, norm1, attn, norm2, mlp: x + attn(norm1(x)) + mlp(norm2(attn(norm1(x))))),),
)
BLOCK_MLP_FIRST = _block(
    "block_mlp_first",
    "The MLP comes before the attention.",
    "the order of the two lines of forward",
    steps=(Steps(sublayers=lambda x, norm1, attn, norm2, mlp: _right(_right(x, norm2, mlp), norm1, attn)),),
)
BLOCK_ATTENTION_TWICE = _block(
    "block_attention_twice",
    "Both sublayers are the attention; the second should be the MLP.",
    "the second line of forward",
    steps=(Steps(sublayers=lambda x, norm1, attn, norm2, mlp: _right(_right(x, norm1, attn), norm2, attn)),),
    effects=Effect.LEAVES_PARAMETERS_UNUSED,
)
BLOCK_MLP_TWICE = _block(
    "block_mlp_twice",
    "Both sublayers are the MLP; the first should be the attention.",
    "the first line of forward",
    steps=(Steps(sublayers=lambda x, norm1, attn, norm2, mlp: _right(_right(x, norm1, mlp), norm2, mlp)),),
    effects=Effect.LOSES_PAST | Effect.LEAVES_PARAMETERS_UNUSED,
)
BLOCK_NO_ATTENTION = _block(
    "block_no_attention",
    "The attention's output is not used: only the MLP adds to the residual stream.",
    "the first line of forward",
    steps=(Steps(sublayers=_compose(_unused, _right)),),
    effects=Effect.LOSES_PAST | Effect.LEAVES_PARAMETERS_UNUSED,
)
BLOCK_NO_MLP = _block(
    "block_no_mlp",
    "The MLP's output is not used: only the attention adds to the residual stream.",
    "the second line of forward",
    steps=(Steps(sublayers=_compose(_right, _unused)),),
    effects=Effect.LEAVES_PARAMETERS_UNUSED,
)
BLOCK_NO_NORMS = _block(
    "block_no_norms",
    "The LayerNorms are created but not applied.",
    "the inputs of the two sublayers",
    steps=(Steps(sublayers=_compose(_no_norm, _no_norm)),),
)
BLOCK_FIRST_NORM_MISSING = _block(
    "block_first_norm_missing",
    "There is no LayerNorm before the attention.",
    "the attention's input",
    steps=(Steps(sublayers=_compose(_no_norm, _right)),),
)
BLOCK_SECOND_NORM_MISSING = _block(
    "block_second_norm_missing",
    "There is no LayerNorm before the MLP.",
    "the MLP's input",
    steps=(Steps(sublayers=_compose(_right, _no_norm)),),
)
BLOCK_FIRST_NORM_TWICE = _block(
    "block_first_norm_twice",
    "Both sublayers use the same LayerNorm; the other one is never applied.",
    "the LayerNorm before each sublayer",
    steps=(Steps(sublayers=lambda x, norm1, attn, norm2, mlp: _right(_right(x, norm1, attn), norm1, mlp)),),
)
BLOCK_NO_RESIDUAL = _block(
    "block_no_residual",
    "There are no residual connections: both sublayers replace x.",
    "the two lines of forward",
    steps=(Steps(sublayers=_compose(_no_residual, _no_residual)),),
    effects=Effect.CHANGES_RESIDUAL_STREAM,
)
BLOCK_NO_FIRST_RESIDUAL = _block(
    "block_no_first_residual",
    "The attention's output replaces x; it should be added to x.",
    "the first line of forward",
    steps=(Steps(sublayers=_compose(_no_residual, _right)),),
    effects=Effect.CHANGES_RESIDUAL_STREAM,
)
BLOCK_NO_SECOND_RESIDUAL = _block(
    "block_no_second_residual",
    "The MLP's output replaces x; it should be added to x.",
    "the second line of forward",
    steps=(Steps(sublayers=_compose(_right, _no_residual)),),
    effects=Effect.CHANGES_RESIDUAL_STREAM,
)
BLOCK_MLP_ADDED_TO_INPUT = _block(
    "block_mlp_added_to_input",
    "The MLP's output is added to the block's input, so the attention's output is lost.",
    "the tensor that the MLP's output is added to",
    steps=(Steps(sublayers=lambda x, norm1, attn, norm2, mlp: x + mlp(norm2(_right(x, norm1, attn)))),),
    effects=Effect.CHANGES_RESIDUAL_STREAM,
)
BLOCK_RESIDUAL_DOUBLED = _block(
    "block_residual_doubled",
    "The residual stream is added one time too many, so the output contains x twice.",
    "the residual additions: one of them adds x a second time",
    steps=(
        Steps(sublayers=_compose(_doubled, _right)),
        Steps(sublayers=_compose(_right, _doubled)),
    ),
    effects=Effect.CHANGES_RESIDUAL_STREAM,
)
BLOCK_ADDS_OUTPUT_TWICE = _block(
    "block_adds_output_twice",
    "A sublayer's output is added to itself, so x is lost; it should be added to x.",
    "the two tensors that each residual connection adds",
    steps=(
        Steps(sublayers=_compose(_output_twice, _right)),
        Steps(sublayers=_compose(_right, _output_twice)),
        Steps(sublayers=_compose(_output_twice, _output_twice)),
    ),
    effects=Effect.CHANGES_RESIDUAL_STREAM,
)
BLOCK_SUBTRACTS = _block(
    "block_subtracts",
    "A sublayer's output is subtracted from the residual stream; it should be added.",
    "the signs in forward",
    steps=(
        Steps(sublayers=_compose(_subtracted, _right)),
        Steps(sublayers=_compose(_right, _subtracted)),
        Steps(sublayers=_compose(_subtracted, _subtracted)),
    ),
)
BLOCK_NORMS_MISSING = _block(
    "block_norms_missing",
    "The block has no LayerNorms.",
    "the layers that __init__ creates",
    counts=(CountChange("block_norms", lambda c: -4 * c.dims.d * c.dims.L),),
    method="__init__",
)
CONSTRUCTOR_ARGUMENTS = _block(
    "constructor_arguments",
    "A part is built with wrong arguments: each should be passed on as the class itself gets it.",
    "the constructor call of that part",
)
