"""List mistakes in GPT outside its blocks."""

from __future__ import annotations

import math
from functools import partial
from typing import TYPE_CHECKING

from autograder.assignment.mistakes.row import CountChange, Effect, Mistake
from autograder.assignment.oracle.model import Blocks, Function, Run, Steps, run_in_turn, unembed
from autograder.assignment.oracle.parameter_count import OUTSIDE

if TYPE_CHECKING:
    from torch import Tensor

_model = partial(Mistake, "model", "task 5.3")


def _run_with_residual(x: Tensor, blocks: Blocks) -> Tensor:
    for block in blocks:
        x = x + block(x)
    return x


def _normalise_in_the_loop(x: Tensor, blocks: Blocks, norm: Function, run: Run) -> Tensor:
    def normalised(block: Function) -> Function:
        return lambda x: norm(block(x))

    return run(x, [normalised(block) for block in blocks])


def _sinusoids(tok: Tensor, is_interleaved: bool) -> Tensor:
    """Return the fixed position encoding (T, d), with sines and cosines in turn or each in one half."""
    T, d = tok.shape[-2:]
    positions, half = tok.new_ones(T).cumsum(0) - 1, tok.new_ones(d // 2).cumsum(0) - 1
    angles = positions[:, None] * (half * (-2 * math.log(10000.0) / d)).exp()  # (T, d / 2)
    table = tok.new_empty((T, d))
    sines, cosines = (slice(0, None, 2), slice(1, None, 2)) if is_interleaved else (slice(d // 2), slice(d // 2, None))
    table[:, sines], table[:, cosines] = angles.sin(), angles.cos()
    return table


POSITIONS_MISSING = _model(
    "positions_missing",
    "There are no position embeddings.",
    "the embeddings that __init__ creates",
    counts=(CountChange(OUTSIDE, lambda c: -c.dims.T_max * c.dims.d),),
    method="__init__",
)
POSITIONS_UNUSED = _model(
    "positions_unused",
    "The position embeddings are not added to the token embeddings.",
    "the first lines of forward",
    steps=(Steps(add_positions=lambda tok, pos, idx: tok),),
)
POSITIONS_MULTIPLIED = _model(
    "positions_multiplied",
    "Token and position embeddings are multiplied; they should be added.",
    "the first lines of forward",
    steps=(Steps(add_positions=lambda tok, pos, idx: tok * pos[: idx.shape[1]]),),
)
POSITIONS_SUBTRACTED = _model(
    "positions_subtracted",
    "The position embeddings are subtracted from the token embeddings; they should be added.",
    "the first lines of forward",
    steps=(Steps(add_positions=lambda tok, pos, idx: tok - pos[: idx.shape[1]]),),
)
POSITIONS_SINUSOIDAL = _model(
    "positions_sinusoidal",
    "The position embeddings are fixed sines and cosines; they should be learnt.",
    "the embeddings that __init__ creates",
    steps=(
        Steps(add_positions=lambda tok, pos, idx: tok + _sinusoids(tok, True)),
        Steps(add_positions=lambda tok, pos, idx: tok + _sinusoids(tok, False)),
    ),
    effects=Effect.DEFIES_CONSTANT_INPUT,
    counts=(CountChange(OUTSIDE, lambda c: -c.dims.T_max * c.dims.d),),
)
POSITIONS_BY_BATCH_ROW = _model(
    "positions_by_batch_row",
    "The position embedding is indexed by batch row, not by position.",
    "the axis of idx that T comes from",
    steps=(Steps(add_positions=lambda tok, pos, idx: tok + pos[: idx.shape[0], None]),),
)
POSITIONS_BY_TOKEN = _model(
    "positions_by_token",
    "The position embedding is indexed by token, not by position.",
    "the input of the position embedding",
    steps=(Steps(add_positions=lambda tok, pos, idx: tok + pos[idx.clamp(max=len(pos) - 1)]),),
)
POSITIONS_START_AT_ONE = _model(
    "positions_start_at_one",
    "Positions start at 1; they should start at 0.",
    "the input of the position embedding",
    steps=(Steps(add_positions=lambda tok, pos, idx: tok + pos[1 : idx.shape[1] + 1]),),
)
POSITIONS_LAST_T = _model(
    "positions_last_T",
    "The last T position embeddings are used; they should be the first T.",
    "the input of the position embedding",
    steps=(Steps(add_positions=lambda tok, pos, idx: tok + pos[-idx.shape[1] :]),),
)
POSITIONS_REVERSED = _model(
    "positions_reversed",
    "The positions are in reverse order.",
    "the input of the position embedding",
    steps=(Steps(add_positions=lambda tok, pos, idx: tok + pos[: idx.shape[1]].flip(0)),),
)
POSITIONS_CONSTANT = _model(
    "positions_constant",
    "All positions get the same position embedding.",
    "the input of the position embedding: it needs T indices",
    steps=(
        Steps(add_positions=lambda tok, pos, idx: tok + pos[0]),
        Steps(add_positions=lambda tok, pos, idx: tok + pos[idx.shape[1] - 1]),
    ),
)
TOKENS_UNUSED = _model(
    "tokens_unused",
    "The token embeddings are not used: the blocks get only the position embeddings.",
    "the first lines of forward",
    steps=(Steps(embed=lambda table, idx: table[idx] * 0),),
    effects=Effect.LOSES_PAST,
)
EMBEDDING_SCALED = _model(
    "embedding_scaled",
    "Token embeddings are multiplied by sqrt(d); here they should not be.",
    "the first lines of forward",
    steps=(Steps(embed=lambda table, idx: table[idx] * math.sqrt(table.shape[-1])),),
)
BLOCKS_ALL_GET_EMBEDDINGS = _model(
    "blocks_all_get_embeddings",
    "Every block gets the embeddings as input, so only the last block matters.",
    "the loop over the blocks: the input of each one",
    steps=(Steps(run_blocks=lambda x, blocks: blocks[-1](x)),),
    effects=Effect.LOSES_PAST,
)
BLOCKS_FIRST_ONLY = _model(
    "blocks_first_only",
    "Only the first block is applied; all L should be, one after another.",
    "the loop over the blocks: does the return stand after it?",
    steps=(Steps(run_blocks=lambda x, blocks: blocks[0](x)),),
)
BLOCKS_EXTRA_RESIDUAL = _model(
    "blocks_extra_residual",
    "GPT adds each block's input again; the block already does that.",
    "the loop over the blocks",
    steps=(Steps(run_blocks=_run_with_residual),),
)
LAST_BLOCK_UNUSED = _model(
    "last_block_unused",
    "One of the L blocks is created but not applied.",
    "the range of the loop over the blocks",
    steps=(Steps(run_blocks=lambda x, blocks: run_in_turn(x, blocks[:-1])),),
)
BLOCKS_UNUSED = _model(
    "blocks_unused",
    "No block is applied: the embeddings go straight to the final LayerNorm.",
    "the loop over the blocks",
    steps=(Steps(run_blocks=lambda x, blocks: x),),
    effects=Effect.LOSES_PAST,
)
BLOCKS_WRONG_NUMBER = _model(
    "blocks_wrong_number",
    "The number of blocks is not L: is it hard-coded, or are L and H swapped?",
    "where L is used",
    counts=(
        CountChange(OUTSIDE, lambda c: -c.block, is_proof=True),
        CountChange(OUTSIDE, lambda c: c.block, is_proof=True),
    ),
    method="__init__",
    code=r"range|\*",
)
FINAL_NORM_UNUSED = _model(
    "final_norm_unused",
    "The final LayerNorm is not applied, or its result is discarded.",
    "the line before the unembedding",
    steps=(Steps(final_norm=lambda x, blocks, norm, run: run(x, blocks)),),
    effects=Effect.CHANGES_INITIAL_LOSS,
)
FINAL_NORM_FIRST = _model(
    "final_norm_first",
    "The final LayerNorm is applied before the blocks; it belongs after the last one.",
    "where the final LayerNorm is called",
    steps=(Steps(final_norm=lambda x, blocks, norm, run: run(norm(x), blocks)),),
    effects=Effect.CHANGES_INITIAL_LOSS,
)
FINAL_NORM_BOTH = _model(
    "final_norm_both",
    "The final LayerNorm is also applied before the blocks; it belongs only after the last one.",
    "where the final LayerNorm is called",
    steps=(Steps(final_norm=lambda x, blocks, norm, run: norm(run(norm(x), blocks))),),
)
FINAL_NORM_IN_THE_LOOP = _model(
    "final_norm_in_the_loop",
    "The final LayerNorm is applied after every block; it belongs only after the last one.",
    "the loop over the blocks",
    steps=(Steps(final_norm=_normalise_in_the_loop),),
)
PARAMETER_FROZEN = _model(
    "parameter_frozen",
    "A parameter has requires_grad=False, so it never trains; every parameter of this model should.",
    "where requires_grad is set",
)
PARAMETER_WITHOUT_GRADIENT = _model(
    "parameter_without_gradient",
    "No gradient reaches these parameters: a tensor is detached, or .data is used.",
    "detach, .data and no_grad in the class that owns them",
    code=r"detach|\.data|no_grad",
)
ROW_WITHOUT_GRADIENT = _model(
    "row_without_gradient",
    "Some rows of an embedding get no gradient, so they never train; the course's text has no padding token.",
    "padding_idx, an option of nn.Embedding",
)
WEIGHTS_OVERWRITTEN = _model(
    "weights_overwritten",
    "forward changes the values of a parameter; it should only read them.",
    "max_norm of nn.Embedding, and assignments in forward",
)
HEAD_BIAS = _model(
    "head_bias",
    "The unembedding has a bias; the formula has none.",
    "how the unembedding is created",
    counts=(
        CountChange(OUTSIDE, lambda c: c.dims.V, lambda c: (c.dims.V,) in dict(c.tensors[OUTSIDE]).values(), True),
    ),
    method="__init__",
)
HEAD_IS_EMBEDDING = _model(
    "head_is_embedding",
    "The unembedding uses the token embedding's matrix; its own is not used.",
    "the last line of forward",
    steps=(Steps(unembed=lambda x, w: x @ w["tok"].T + w.get("head.bias", 0.0)),),
    effects=Effect.CHANGES_INITIAL_LOSS,
)
LOGITS_ARE_PROBABILITIES = _model(
    "logits_are_probabilities",
    "forward returns probabilities; it should return the logits, before any softmax.",
    "the last line of forward",
    steps=(Steps(unembed=lambda x, w: unembed(x, w).softmax(-1)),),
)
LOGITS_ARE_LOG_PROBABILITIES = _model(
    "logits_are_log_probabilities",
    "forward returns log-probabilities; it should return the logits, before any softmax.",
    "the last line of forward",
    steps=(Steps(unembed=lambda x, w: unembed(x, w).log_softmax(-1)),),
)
LOGITS_SCALED = _model(
    "logits_scaled",
    "The logits are divided by sqrt(d); they should not be scaled.",
    "the last line of forward",
    steps=(Steps(unembed=lambda x, w: unembed(x, w) / math.sqrt(x.shape[-1])),),
)
