"""List mistakes in MultiHeadAttention and in a student's own Head."""

from __future__ import annotations

import math
from functools import partial
from typing import TYPE_CHECKING

from autograder.assignment.mistakes.row import CountChange, Effect, Mistake
from autograder.assignment.oracle.model import Function, Steps, Weights, gelu, is_later, merge_heads, project

if TYPE_CHECKING:
    from torch import Tensor

    from autograder.assignment.oracle.parameter_count import ParameterCounts

_attention = partial(Mistake, "attention", "task 5.1")
_any = partial(Mistake, "any", "tasks 5.1 to 5.3")

FINITE = -1e9  # the fill of fully masked slices: students see a result only with a finite one


def _has_mask(counts: ParameterCounts) -> bool:
    n = counts.dims.T_max
    return any(shape[-2:] == (n, n) for shape in counts.matrix_shapes("attention"))


def _mask_with(fill: float) -> Function:
    """Return the correct mask with this fill value."""
    return lambda scores: scores.masked_fill(is_later(scores), fill)


def _merge_scaled(heads: Tensor) -> Tensor:
    """Merge heads divided by sqrt(d_head), as after dividing the attention weights."""
    return merge_heads(heads) / math.sqrt(heads.shape[-1])


def _input_as_values(x: Tensor, w: Weights, at: str) -> Tensor:
    """Return the input (B, T, d) as values (B, H, T, width): each head gets a slice of x, or all of it."""
    H, width, _ = w[f"{at}.o"].shape
    return x.reshape(*x.shape[:2], -1, width).expand(-1, -1, H, -1).transpose(1, 2)


def _swap_heads_and_time(heads: Tensor) -> Tensor:
    """Swap the axes of (B, H, T, d_head)."""
    return heads.transpose(1, 2)


def _softmax_with_empty_rows(scores: Tensor) -> Tensor:
    """Return attention weights of 0 for a query whose keys are all masked, as F.scaled_dot_product_attention does."""
    is_empty = (scores <= FINITE).all(-1, keepdim=True)
    return scores.softmax(-1).masked_fill(is_empty, 0.0)


DROPOUT_IN_EVAL = _any(
    "dropout_in_eval",
    "The output is random in eval mode; dropout may still be active.",
    "dropout: F.dropout stays active in eval mode unless you pass it `training`",
    effects=Effect.WEIGHTS_DO_NOT_SUM_TO_ONE,
)

# --- the scale --------------------------------------------------------------------------------------------------------
SCALE_SQRT_D = _attention(
    "scale_sqrt_d",
    "The attention scores are divided by sqrt(d), not sqrt(d_head): each dot product sums d_head terms.",
    "the scale of the attention scores",
    steps=(Steps(scale=lambda q, d: 1 / math.sqrt(d)),),
)
SCALE_D_HEAD = _attention(
    "scale_d_head",
    "The attention scores are divided by d_head, not by its square root.",
    "the scale: is the square root missing, or is sqrt(d_head) applied twice?",
    steps=(Steps(scale=lambda q, d: 1 / q.shape[-1]),),
)
SCALE_D = _attention(
    "scale_d",
    "The attention scores are divided by the full width d, not by sqrt(d_head).",
    "the scale of the attention scores",
    steps=(Steps(scale=lambda q, d: 1 / d),),
)
SCALE_INVERTED = _attention(
    "scale_inverted",
    "The attention scores are multiplied by sqrt(d_head); they should be divided by it.",
    "the scale of the attention scores",
    steps=(Steps(scale=lambda q, d: math.sqrt(q.shape[-1])),),
)
SCALE_TIMES_D_HEAD = _attention(
    "scale_times_d_head",
    "The attention scores are multiplied by d_head; they should be divided by its square root.",
    "the scale of the attention scores",
    steps=(Steps(scale=lambda q, d: q.shape[-1]),),
)
SCALE_SQRT_T = _attention(
    "scale_sqrt_T",
    "The attention scores are divided by sqrt(T), the sequence length, not by sqrt(d_head).",
    "the axis of q whose size sets the scale",
    steps=(Steps(scale=lambda q, d: 1 / math.sqrt(q.shape[-2])),),
)
SCALE_SQRT_H = _attention(
    "scale_sqrt_H",
    "The attention scores are divided by sqrt(H), the number of heads, not by sqrt(d_head).",
    "the axis of q whose size sets the scale",
    steps=(Steps(scale=lambda q, d: 1 / math.sqrt(q.shape[1])),),
)
SCALE_ROUNDED = _attention(
    "scale_rounded",
    "The attention scores are divided by sqrt(d_head) rounded to an integer.",
    "the scale: sqrt(d_head) is rarely an integer",
    steps=(
        Steps(scale=lambda q, d: 1 / math.floor(math.sqrt(q.shape[-1]))),
        Steps(scale=lambda q, d: 1 / math.ceil(math.sqrt(q.shape[-1]))),
    ),
)
SCALE_MISSING = _attention(
    "scale_missing",
    "The attention scores are not divided by sqrt(d_head).",
    "the line that computes the attention scores",
    steps=(Steps(scale=lambda q, d: 1.0),),
)
SCALE_AFTER_SOFTMAX = _attention(
    "scale_after_softmax",
    "The attention weights are divided by sqrt(d_head) after the softmax; scale the scores before it.",
    "the order of scale and softmax",
    steps=(Steps(scale=lambda q, d: 1.0, merge=_merge_scaled),),
    effects=Effect.WEIGHTS_DO_NOT_SUM_TO_ONE,
)
SCORES_NEGATED = _attention(
    "scores_negated",
    "The attention scores are negated, so each position attends most to the keys that match least.",
    "the line that computes the attention scores",
    steps=(Steps(scale=lambda q, d: -1 / math.sqrt(q.shape[-1])),),
)

# --- the mask ---------------------------------------------------------------------------------------------------------
MASK_MISSING = _attention(
    "mask_missing",
    "No causal mask is applied: every position also attends to later positions.",
    "the mask: is it built but never used?",
    steps=(Steps(mask=lambda scores: scores),),
    effects=Effect.LEAKS_FUTURE,
)
MASK_AFTER_SOFTMAX = _attention(
    "mask_after_softmax",
    "The mask is applied after the softmax, so the attention weights no longer sum to 1.",
    "the order of mask and softmax",
    steps=(Steps(mask=lambda scores: scores, attend=lambda weights, v: weights.tril() @ v),),
    effects=Effect.LEAKS_FUTURE | Effect.WEIGHTS_DO_NOT_SUM_TO_ONE,
)
MASK_ZERO = _attention(
    "mask_zero",
    "Masked attention scores are set to 0, which still gets weight in the softmax; they should be -inf.",
    "the value that masked scores get",
    steps=(Steps(mask=_mask_with(0.0)),),
    effects=Effect.LEAKS_FUTURE,
)
MASK_WEAK = _attention(
    "mask_weak",
    "Masked attention scores are set to a finite number such as -10 and still get weight; use -inf.",
    "the mask's fill value",
    steps=(
        Steps(mask=_mask_with(-1.0)),
        Steps(mask=_mask_with(-5.0)),
        Steps(mask=_mask_with(-10.0)),
    ),
    effects=Effect.LEAKS_FUTURE,
)
MASK_POSITIVE = _attention(
    "mask_positive",
    "Masked scores are filled with a large positive number, so attention goes only to masked positions.",
    "the sign of the mask's fill value",
    steps=(Steps(mask=_mask_with(1e9)),),
    effects=Effect.LEAKS_FUTURE,
)
MASK_ANTI_CAUSAL = _attention(
    "mask_anti_causal",
    "The mask is anti-causal: each position attends to itself and to later positions.",
    "how the mask is built: rows are queries, columns are keys",
    steps=(Steps(mask=lambda scores: scores.masked_fill(~is_later(scores, 0), -math.inf)),),
    effects=Effect.LEAKS_FUTURE | Effect.LOSES_PAST,
    code="tril|triu",
)
MASK_INVERTED = _attention(
    "mask_inverted",
    "The mask is inverted: each position attends only to later positions.",
    "the condition of the mask",
    steps=(
        Steps(mask=lambda scores: scores.masked_fill(~is_later(scores), FINITE)),
        Steps(
            mask=lambda scores: scores.masked_fill(~is_later(scores), FINITE),
            softmax=_softmax_with_empty_rows,
        ),
    ),
    effects=Effect.LEAKS_FUTURE | Effect.LOSES_PAST | Effect.DEFIES_CONSTANT_INPUT,
    code="masked_fill|where|tril|triu",
)
MASK_OFF_BY_ONE = _attention(
    "mask_off_by_one",
    "The mask is off by one: each position also attends to the next one.",
    "the mask's diagonal offset",
    steps=(Steps(mask=lambda scores: scores.masked_fill(is_later(scores, 2), -math.inf)),),
    effects=Effect.LEAKS_FUTURE,
    code="tril|triu",
)
MASK_EXCLUDES_SELF = _attention(
    "mask_excludes_self",
    "The mask excludes the diagonal, so position 0 has nothing to attend to.",
    "the mask's diagonal offset",
    steps=(
        Steps(mask=lambda scores: scores.masked_fill(is_later(scores, 0), FINITE)),
        Steps(
            mask=lambda scores: scores.masked_fill(is_later(scores, 0), FINITE),
            softmax=_softmax_with_empty_rows,
        ),
    ),
    effects=Effect.LOSES_PAST | Effect.DEFIES_CONSTANT_INPUT,
    code="tril|triu",
)
MASK_DIAGONAL_ONLY = _attention(
    "mask_diagonal_only",
    "Each position attends only to itself.",
    "the mask: does it keep only the diagonal?",
    steps=(Steps(mask=lambda scores: scores.masked_fill(is_later(scores) | ~is_later(scores, 0), -math.inf)),),
    effects=Effect.LOSES_PAST,
)
MASK_FIRST_POSITION_ONLY = _attention(
    "mask_first_position_only",
    "Each position attends only to position 0, as with one row of the mask for all queries.",
    "the shape of the mask: it needs T rows and T columns",
    steps=(Steps(mask=lambda scores: scores.masked_fill(is_later(scores)[0], -math.inf)),),
    effects=Effect.LOSES_PAST,
)
MASK_ADDED_AS_NUMBERS = _attention(
    "mask_added_as_numbers",
    "A mask of zeros and ones is added to the attention scores; masked scores should be -inf.",
    "the mask: a boolean mask selects, a float mask is added",
    steps=(
        Steps(mask=lambda scores: scores + (~is_later(scores)).to(scores.dtype)),
        Steps(mask=lambda scores: scores + is_later(scores).to(scores.dtype)),
    ),
    effects=Effect.LEAKS_FUTURE,
)
SCORES_SWAMPED = _attention(
    "scores_swamped",
    "Each position attends equally to itself and all earlier ones: the mask swamps the attention scores.",
    "large numbers added to unmasked scores",
    steps=(Steps(mask=lambda scores: (scores * 0).masked_fill(is_later(scores), -math.inf)),),
)
MASK_ALL_NAN = _attention(
    "mask_all_nan",
    "Every row of attention weights has a NaN: the mask multiplies 0 by -inf, or masks everything.",
    "how the mask is built",
    code="tril|triu",
)
MASK_NOT_SLICED = _attention(
    "mask_not_sliced",
    "The mask keeps its full size (T_max, T_max), but the attention scores are (T, T).",
    "the mask in forward: slice it to the input's length T",
    code="mask",
)

# --- the softmax ------------------------------------------------------------------------------------------------------
SOFTMAX_OVER_QUERIES = _attention(
    "softmax_over_queries",
    "The softmax is over the query axis (dim=-2); it must be over the key axis (dim=-1).",
    "the dim of the softmax",
    steps=(Steps(softmax=lambda scores: scores.softmax(-2)),),
    effects=Effect.LEAKS_FUTURE | Effect.WEIGHTS_DO_NOT_SUM_TO_ONE,
)
SOFTMAX_OVER_HEADS = _attention(
    "softmax_over_heads",
    "The softmax is over the head axis; it must be over the key axis (dim=-1).",
    "the dim of the softmax",
    steps=(Steps(softmax=lambda scores: scores.clamp(min=FINITE).softmax(1)),),
    effects=Effect.LEAKS_FUTURE | Effect.WEIGHTS_DO_NOT_SUM_TO_ONE,
)
SOFTMAX_OVER_BATCH = _attention(
    "softmax_over_batch",
    "The softmax is over the batch axis (dim=0); it must be over the key axis (dim=-1).",
    "the dim of the softmax",
    steps=(Steps(softmax=lambda scores: scores.clamp(min=FINITE).softmax(0)),),
    effects=Effect.LEAKS_FUTURE | Effect.MIXES_ROWS | Effect.WEIGHTS_DO_NOT_SUM_TO_ONE,
)
SOFTMAX_MISSING = _attention(
    "softmax_missing",
    "There is no softmax: the scores, 0 where masked, serve as attention weights.",
    "the lines between attention scores and attention weights",
    steps=(Steps(softmax=lambda scores: scores.masked_fill(scores <= FINITE, 0.0)),),
    effects=Effect.WEIGHTS_DO_NOT_SUM_TO_ONE,
)
SOFTMAX_TWICE = _attention(
    "softmax_twice",
    "The softmax is applied twice, the second time to attention weights.",
    "the lines between attention scores and attention weights",
    steps=(Steps(softmax=lambda scores: scores.softmax(-1).softmax(-1)),),
    effects=Effect.LEAKS_FUTURE,
)
SOFTMAX_OVER_MASKED_SLICES = _attention(
    "softmax_over_masked_slices",
    "Only the last position's output is finite: along the softmax's axis, some slices are fully masked.",
    "the dim of the softmax",
    code="softmax",
)
WEIGHTS_TRANSPOSED = _attention(
    "weights_transposed",
    "The attention weights are transposed when they multiply the values: queries and keys are swapped.",
    "the product of attention weights and values",
    steps=(Steps(attend=lambda weights, v: weights.mT @ v),),
    effects=Effect.LEAKS_FUTURE | Effect.WEIGHTS_DO_NOT_SUM_TO_ONE,
)

# --- queries, keys, values --------------------------------------------------------------------------------------------
VALUE_IS_KEY = _attention(
    "value_is_key",
    "Keys and values share one matrix; each needs its own.",
    "the layer that computes the values",
    steps=(Steps(value=lambda x, w, at: project(x, w, f"{at}.k")),),
    counts=(CountChange("attention", lambda c: -(c.dims.d**2) * c.dims.L),),
)
VALUE_IS_QUERY = _attention(
    "value_is_query",
    "Queries and values share one matrix; each needs its own.",
    "the layer that computes the values",
    steps=(Steps(value=lambda x, w, at: project(x, w, f"{at}.q")),),
    counts=(CountChange("attention", lambda c: -(c.dims.d**2) * c.dims.L),),
)
VALUE_IS_INPUT = _attention(
    "value_is_input",
    "The values are the input itself: the value matrix is missing or not used.",
    "the tensor that the attention weights multiply",
    steps=(Steps(value=_input_as_values),),
    counts=(
        CountChange("attention", lambda c: -(c.dims.d**2) * c.dims.L),
        CountChange("attention", lambda c: c.dims.d**2 * (c.dims.H - 1) * c.dims.L),
    ),
)
KEY_IS_QUERY = _attention(
    "key_is_query",
    "Queries and keys share one matrix; each needs its own.",
    "the layers that compute queries and keys",
    steps=(Steps(key=lambda x, w, at: project(x, w, f"{at}.q")),),
    counts=(CountChange("attention", lambda c: -(c.dims.d**2) * c.dims.L),),
)
QKV_BIASES = _attention(
    "qkv_biases",
    "The query, key or value layers have biases; in this course they have none.",
    "how the query, key and value layers are created",
    counts=(
        CountChange("attention", lambda c: 3 * c.dims.d * c.dims.L),
        CountChange("attention", lambda c: 2 * c.dims.d * c.dims.L),
        CountChange("attention", lambda c: c.dims.d * c.dims.L),
    ),
    method="__init__",
)

# --- heads ------------------------------------------------------------------------------------------------------------
MERGE_WITHOUT_TRANSPOSE = _attention(
    "merge_without_transpose",
    "The heads are merged without transposing (B, H, T, d_head) to (B, T, H, d_head), which mixes positions and heads.",
    "the line that merges the heads",
    steps=(Steps(merge=lambda heads: heads.reshape(len(heads), heads.shape[2], -1)),),
    effects=Effect.LEAKS_FUTURE | Effect.LOSES_PAST | Effect.WEIGHTS_DO_NOT_SUM_TO_ONE,
)
SPLIT_WITHOUT_TRANSPOSE = _attention(
    "split_without_transpose",
    "(B, T, d) is viewed directly as (B, H, T, d_head), which mixes positions and heads.",
    "the line that splits the heads",
    steps=(Steps(split=lambda heads: heads.transpose(1, 2).reshape(heads.shape)),),
    effects=Effect.LEAKS_FUTURE | Effect.LOSES_PAST | Effect.WEIGHTS_DO_NOT_SUM_TO_ONE,
)
HEADS_AND_BATCH_MIXED = _attention(
    "heads_and_batch_mixed",
    "Heads and batch are split from their shared axis in the wrong order, which mixes rows of the batch.",
    "the reshape that separates heads and batch",
    steps=(
        Steps(merge=lambda heads: merge_heads(heads.transpose(0, 1).reshape(heads.shape))),
        Steps(merge=lambda heads: merge_heads(heads.reshape(heads.transpose(0, 1).shape).transpose(0, 1))),
    ),
    effects=Effect.MIXES_ROWS,
)
HEADS_CONCATENATED_IN_TIME = _attention(
    "heads_concatenated_in_time",
    "The heads' outputs are concatenated along time, so the width stays d_head.",
    "the dim of the concatenation",
    code=r"\bcat\(|stack\(",
)
HEADS_WRONG_NUMBER = _attention(
    "heads_wrong_number",
    "d is not split into H heads: is their number hard-coded, or are d and H swapped?",
    "where H is used",
    method="__init__",
)
PROJECTIONS_DOUBLED = _attention(
    "projections_doubled",
    "nn.MultiheadAttention has its own projections; your own layers project the input a second time.",
    "the layers in front of nn.MultiheadAttention",
    counts=(
        CountChange(
            "attention",
            lambda c: 3 * (c.dims.d**2 + c.dims.d) * c.dims.L,
            lambda c: c.has_name("attention", "in_proj"),
            True,
        ),
    ),
    method="__init__",
    code="MultiheadAttention",
)
HEADS_SHARED = _attention(
    "heads_shared",
    "All H heads are one and the same Head object; create a new one for each.",
    "how the heads are created",
    counts=(
        CountChange(
            "attention",
            lambda c: -3 * c.dims.d * (c.dims.d - c.dims.d // c.dims.H) * c.dims.L,
            lambda c: len(c.matrix_shapes("attention")) <= 4,  # one head and the projection
        ),
    ),
    method="__init__",
    code="Head",
)
HEADS_SHARE_KEYS_VALUES = _attention(
    "heads_share_keys_values",
    "The heads share one key or value matrix; each needs its own.",
    "the sizes of the key and value layers",
    counts=(
        CountChange("attention", lambda c: -2 * c.dims.d * (c.dims.d - c.dims.d // c.dims.H) * c.dims.L),
        CountChange("attention", lambda c: -c.dims.d * (c.dims.d - c.dims.d // c.dims.H) * c.dims.L),
    ),
    method="__init__",
)
HEADS_NOT_REGISTERED = _attention(
    "heads_not_registered",
    "The heads' parameters are not registered: nn.Module doesn't look into a Python list.",
    "the container that holds the heads",
    counts=(CountChange("attention", lambda c: -3 * c.dims.d**2 * c.dims.L, is_proof=True),),
    method="__init__",
    code=r"heads\s*=",
)
HEADS_SLICE_INPUT = _attention(
    "heads_slice_input",
    "Each head projects only its own d_head-wide slice of x; every head should use all d features.",
    "the input of each head",
    counts=(
        CountChange(
            "attention",
            lambda c: -3 * c.dims.d * (c.dims.d - c.dims.d // c.dims.H) * c.dims.L,
            lambda c: len(c.matrix_shapes("attention")) > 4,
        ),
        CountChange("attention", lambda c: -3 * (c.dims.d**2 - (c.dims.d // c.dims.H) ** 2) * c.dims.L),
    ),
    code=r"head.*\bfor\b",
)
HEADS_FULL_WIDTH = _attention(
    "heads_full_width",
    "Each head has the full width d; it should have d_head = d / H.",
    "the width passed to each head",
    counts=(
        CountChange("attention", lambda c: 4 * c.dims.d**2 * (c.dims.H - 1) * c.dims.L),
        CountChange("attention", lambda c: 3 * c.dims.d**2 * (c.dims.H - 1) * c.dims.L),
    ),
    method="__init__",
    code=r"Head\(",
)
ATTENTION_OVER_BATCH = _attention(
    "attention_over_batch",
    "Attention runs over the batch axis (dim=0); it should run over the time axis (dim=1).",
    "the order of the axes, or the batch_first argument",
    steps=(Steps(split=lambda heads: heads.transpose(0, 2), merge=lambda heads: merge_heads(heads).transpose(0, 1)),),
    effects=Effect.LEAKS_FUTURE | Effect.LOSES_PAST | Effect.MIXES_ROWS | Effect.WEIGHTS_DO_NOT_SUM_TO_ONE,
)
ATTENTION_OVER_HEADS = _attention(
    "attention_over_heads",
    "Attention runs over the head axis, within each position; it should run over the time axis.",
    "the order of the axes before the scores are computed",
    steps=(
        Steps(split=_swap_heads_and_time, merge=lambda heads: merge_heads(_swap_heads_and_time(heads))),
        Steps(
            split=_swap_heads_and_time,
            merge=lambda heads: merge_heads(_swap_heads_and_time(heads)),
            mask=lambda scores: scores,
        ),
    ),
    effects=Effect.LOSES_PAST,
)

# --- the output projection --------------------------------------------------------------------------------------------
ATTENTION_ADDS_INPUT = _attention(
    "attention_adds_input",
    "The attention adds its input to its output; the residual connection belongs in Block.",
    "the last line of forward",
    steps=(Steps(output=lambda x, out: x + out),),
)
PROJECTION_MISSING = _attention(
    "projection_missing",
    "The attention has no output projection.",
    "__init__: the concatenated heads need one more linear layer",
    counts=(CountChange("attention", lambda c: -(c.dims.d**2 + c.dims.d) * c.dims.L),),
    method="__init__",
)
PROJECTION_UNUSED = _attention(
    "projection_unused",
    "The output projection is created but not applied to the result.",
    "the last line of forward",
    steps=(Steps(project=lambda merged, proj: merged),),
)
PROJECTION_TWICE = _attention(
    "projection_twice",
    "The output projection is applied twice.",
    "the last lines of forward",
    steps=(Steps(project=lambda merged, proj: proj(proj(merged))),),
)
PROJECTION_RELU = _attention(
    "projection_relu",
    "A ReLU follows the output projection; no activation should.",
    "the last line of forward",
    steps=(Steps(project=lambda merged, proj: proj(merged).relu()),),
)
PROJECTION_GELU = _attention(
    "projection_gelu",
    "A GELU follows the output projection; no activation should.",
    "the last line of forward",
    steps=(Steps(project=lambda merged, proj: gelu(proj(merged))),),
)
ATTENTION_PROJ_BIAS_MISSING = _attention(
    "attention_proj_bias_missing",
    "The output projection has no bias; the formula has b_O.",
    "how the projection is created",
    counts=(CountChange("attention", lambda c: -c.dims.d * c.dims.L),),
    method="__init__",
    code=r"bias\s*=\s*False",
)
MASK_IS_PARAMETER = _attention(
    "mask_is_parameter",
    "The mask is counted as a parameter, but it isn't learnt.",
    "how the mask is stored: a buffer moves with the model and isn't counted",
    counts=(
        CountChange("attention", lambda c: c.dims.T_max**2 * c.dims.L, _has_mask, is_proof=True),
        CountChange("attention", lambda c: c.dims.T_max**2 * c.dims.H * c.dims.L, _has_mask, is_proof=True),
    ),
    method="__init__",
    code="Parameter",
)
