"""List mistakes in MultiHeadAttention and in a student's own Head."""

from __future__ import annotations

from functools import partial

from autograder.assignment.mistakes.row import Mistake

_attention = partial(Mistake, "attention", "task 5.1")
_any = partial(Mistake, "any", "tasks 5.1 to 5.3")

ROWS = (
    _any(
        "dropout_in_eval",
        "The output is random in eval mode; dropout may still be active.",
        "dropout: F.dropout stays active in eval mode unless you pass it `training`",
    ),
    # --- the scale ----------------------------------------------------------------------------------------------------
    _attention(
        "scale_sqrt_d",
        "The attention scores are divided by sqrt(d), not sqrt(d_head): each dot product sums d_head terms.",
        "the scale of the attention scores",
        "scale",
        ("sqrt_d",),
    ),
    _attention(
        "scale_d_head",
        "The attention scores are divided by d_head, not by its square root.",
        "the scale: is the square root missing, or is sqrt(d_head) applied twice?",
        "scale",
        ("d_head",),
    ),
    _attention(
        "scale_d",
        "The attention scores are divided by the full width d, not by sqrt(d_head).",
        "the scale of the attention scores",
        "scale",
        ("d",),
    ),
    _attention(
        "scale_inverted",
        "The attention scores are multiplied by sqrt(d_head); they should be divided by it.",
        "the scale of the attention scores",
        "scale",
        ("inverted",),
    ),
    _attention(
        "scale_times_d_head",
        "The attention scores are multiplied by d_head; they should be divided by its square root.",
        "the scale of the attention scores",
        "scale",
        ("times_d_head",),
    ),
    _attention(
        "scale_sqrt_T",
        "The attention scores are divided by sqrt(T), the sequence length, not by sqrt(d_head).",
        "the axis of q whose size sets the scale",
        "scale",
        ("sqrt_T",),
    ),
    _attention(
        "scale_sqrt_H",
        "The attention scores are divided by sqrt(H), the number of heads, not by sqrt(d_head).",
        "the axis of q whose size sets the scale",
        "scale",
        ("sqrt_H",),
    ),
    _attention(
        "scale_missing",
        "The attention scores are not divided by sqrt(d_head).",
        "the line that computes the attention scores",
        "scale",
        ("missing",),
    ),
    _attention(
        "scale_after_softmax",
        "The attention weights are divided by sqrt(d_head) after the softmax; scale the scores before it.",
        "the order of scale and softmax",
        "scale",
        ("after_softmax",),
    ),
    _attention(
        "scores_negated",
        "The attention scores are negated, so each position attends most to the keys that match least.",
        "the line that computes the attention scores",
        "scale",
        ("negated",),
    ),
    # --- the mask -----------------------------------------------------------------------------------------------------
    _attention(
        "mask_missing",
        "No causal mask is applied: every position also attends to later positions.",
        "the mask: is it built but never used?",
        "mask",
        ("missing",),
    ),
    _attention(
        "mask_after_softmax",
        "The mask is applied after the softmax, so the attention weights no longer sum to 1.",
        "the order of mask and softmax",
        "mask",
        ("after_softmax",),
    ),
    _attention(
        "mask_zero",
        "Masked attention scores are set to 0, which still gets weight in the softmax; they should be -inf.",
        "the value that masked scores get",
        "mask",
        ("zero",),
    ),
    _attention(
        "mask_weak",
        "Masked attention scores are set to a finite number such as -10 and still get weight; use -inf.",
        "the mask's fill value",
        "mask",
        ("fill_-1", "fill_-5", "fill_-10"),
    ),
    _attention(
        "mask_positive",
        "Masked scores are filled with a large positive number, so attention goes only to masked positions.",
        "the sign of the mask's fill value",
        "mask",
        ("positive",),
    ),
    _attention(
        "mask_anti_causal",
        "The mask is anti-causal: each position attends to itself and to later positions.",
        "how the mask is built: rows are queries, columns are keys",
        "mask",
        ("anti_causal",),
    ),
    _attention(
        "mask_inverted",
        "The mask is inverted: each position attends only to later positions.",
        "the condition of the mask",
        "mask",
        ("inverted",),
    ),
    _attention(
        "mask_off_by_one",
        "The mask is off by one: each position also attends to the next one.",
        "the mask's diagonal offset",
        "mask",
        ("off_by_one",),
    ),
    _attention(
        "mask_excludes_self",
        "The mask excludes the diagonal, so position 0 has nothing to attend to.",
        "the mask's diagonal offset",
        "mask",
        ("excludes_self",),
    ),
    _attention(
        "mask_diagonal_only",
        "Each position attends only to itself.",
        "the mask: does it keep only the diagonal?",
        "mask",
        ("diagonal_only",),
    ),
    _attention(
        "scores_swamped",
        "Each position attends equally to itself and all earlier ones: the mask swamps the attention scores.",
        "large numbers added to unmasked scores",
        "mask",
        ("swamped",),
    ),
    _attention(
        "mask_all_nan",
        "Every row of attention weights has a NaN: the mask multiplies 0 by -inf, or masks everything.",
        "how the mask is built",
    ),
    _attention(
        "mask_not_sliced",
        "The mask keeps its full size (T_max, T_max), but the attention scores are (T, T).",
        "the mask in forward: slice it to the input's length T",
    ),
    # --- the softmax --------------------------------------------------------------------------------------------------
    _attention(
        "softmax_over_queries",
        "The softmax is over the query axis (dim=-2); it must be over the key axis (dim=-1).",
        "the dim of the softmax",
        "softmax",
        ("over_queries",),
    ),
    _attention(
        "softmax_over_heads",
        "The softmax is over the head axis; it must be over the key axis (dim=-1).",
        "the dim of the softmax",
        "softmax",
        ("over_heads",),
    ),
    _attention(
        "softmax_over_batch",
        "The softmax is over the batch axis (dim=0); it must be over the key axis (dim=-1).",
        "the dim of the softmax",
        "softmax",
        ("over_batch",),
    ),
    _attention(
        "softmax_missing",
        "There is no softmax: masked scores are set to 0, and the rest serve directly as attention weights.",
        "the lines between attention scores and attention weights",
        "softmax",
        ("missing",),
    ),
    _attention(
        "softmax_twice",
        "The softmax is applied twice, the second time to attention weights.",
        "the lines between attention scores and attention weights",
        "softmax",
        ("twice",),
    ),
    _attention(
        "softmax_over_masked_slices",
        "Only the last position's output is finite: along the softmax's axis, some slices are fully masked.",
        "the dim of the softmax",
    ),
    _attention(
        "weights_transposed",
        "The attention weights are transposed when they multiply the values: queries and keys are swapped.",
        "the product of attention weights and values",
        "weights",
        ("transposed",),
    ),
    # --- queries, keys, values ----------------------------------------------------------------------------------------
    _attention(
        "value_is_key",
        "Keys and values share one matrix; each needs its own.",
        "the layer that computes the values",
        "value",
        ("k",),
    ),
    _attention(
        "value_is_query",
        "Queries and values share one matrix; each needs its own.",
        "the layer that computes the values",
        "value",
        ("q",),
    ),
    _attention(
        "value_is_input",
        "The values are the input itself: the value matrix is missing or not used.",
        "the tensor that the attention weights multiply",
        "value",
        ("input",),
    ),
    _attention(
        "key_is_query",
        "Queries and keys share one matrix; each needs its own.",
        "the layers that compute queries and keys",
        "key",
        ("q",),
    ),
    _attention(
        "qkv_biases",
        "The query, key or value layers have biases; in this course they have none.",
        "how the query, key and value layers are created",
    ),
    # --- heads --------------------------------------------------------------------------------------------------------
    _attention(
        "merge_without_transpose",
        "The heads are merged without transposing (B, H, T, d_head) to (B, T, H, d_head), which "
        "mixes positions and heads.",
        "the line that merges the heads",
        "merge",
        ("without_transpose",),
    ),
    _attention(
        "split_without_transpose",
        "(B, T, d) is viewed directly as (B, H, T, d_head), which mixes positions and heads.",
        "the line that splits the heads",
        "split",
        ("without_transpose",),
    ),
    _attention(
        "heads_concatenated_in_time",
        "The heads' outputs are concatenated along time, so the width stays d_head.",
        "the dim of the concatenation",
    ),
    _attention(
        "heads_wrong_number",
        "d is not split into H heads: is their number hard-coded, or are d and H swapped?",
        "where H is used",
    ),
    _attention(
        "projections_doubled",
        "nn.MultiheadAttention has its own projections; your own layers project the input a second time.",
        "the layers in front of nn.MultiheadAttention",
    ),
    _attention(
        "heads_shared",
        "All H heads are one and the same Head object; create a new one for each.",
        "how the heads are created",
    ),
    _attention(
        "heads_share_keys_values",
        "The heads share one key or value matrix; each needs its own.",
        "the sizes of the key and value layers",
    ),
    _attention(
        "heads_not_registered",
        "The heads' parameters are not registered: nn.Module doesn't look into a Python list.",
        "the container that holds the heads",
    ),
    _attention(
        "heads_slice_input",
        "Each head projects only its own d_head-wide slice of x; every head should use all d features.",
        "the input of each head",
    ),
    _attention(
        "heads_full_width",
        "Each head has the full width d; it should have d_head = d / H.",
        "the width passed to each head",
    ),
    _attention(
        "attention_over_batch",
        "Attention runs over the batch axis (dim=0); it should run over the time axis (dim=1).",
        "the order of the axes, or the batch_first argument",
        "axis",
        ("batch",),
    ),
    # --- the output projection ----------------------------------------------------------------------------------------
    _attention(
        "attention_adds_input",
        "The attention adds its input to its output; the residual connection belongs in Block.",
        "the last line of forward",
        "add",
        ("input",),
    ),
    _attention(
        "projection_missing",
        "The attention has no output projection.",
        "__init__: the concatenated heads need one more linear layer",
    ),
    _attention(
        "projection_unused",
        "The output projection is created but not applied to the result.",
        "the last line of forward",
        "project",
        ("unused",),
    ),
    _attention(
        "projection_twice",
        "The output projection is applied twice.",
        "the last lines of forward",
        "project",
        ("twice",),
    ),
    _attention(
        "projection_relu",
        "A ReLU follows the output projection; no activation should.",
        "the last line of forward",
        "project",
        ("relu",),
    ),
    _attention(
        "projection_gelu",
        "A GELU follows the output projection; no activation should.",
        "the last line of forward",
        "project",
        ("gelu",),
    ),
    _attention(
        "attention_proj_bias_missing",
        "The output projection has no bias; the formula has b_O.",
        "how the projection is created",
    ),
    _attention(
        "mask_is_parameter",
        "The mask is counted as a parameter, but it isn't learnt.",
        "how the mask is stored: a buffer moves with the model and isn't counted",
    ),
)
