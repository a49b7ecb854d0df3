"""Mistakes in MultiHeadAttention and in a Head of the student's own."""

from __future__ import annotations

from functools import partial

from autograder.oracle.mistakes.row import Mistake

_row = partial(Mistake, "attention", "task 5.1")
_any = partial(Mistake, "any", "tasks 5.1 to 5.3")

ROWS = (
    _any(
        "dropout_in_eval",
        "Something is drawn at random there, such as a dropout that does not stop.",
        "dropout: a call of F.dropout goes on unless it is told that training is over",
    ),
    # --- the scale ----------------------------------------------------------------------------------------------------
    _row(
        "scale_sqrt_d",
        "Your scores are divided by sqrt(d), not by sqrt(d_head): a head's dot products have d_head terms.",
        "the scale of the scores",
        "scale",
        ("sqrt d",),
    ),
    _row(
        "scale_d_head",
        "Your scores are divided by d_head, not by its square root.",
        "the scale of the scores: is the root missing, or is it applied twice?",
        "scale",
        ("d_head",),
    ),
    _row(
        "scale_d",
        "Your scores are divided by the whole width d, not by sqrt(d_head).",
        "the scale of the scores",
        "scale",
        ("d",),
    ),
    _row(
        "scale_inverted",
        "Your scores are multiplied by sqrt(d_head); they should be divided by it.",
        "the scale of the scores",
        "scale",
        ("times sqrt d_head",),
    ),
    _row(
        "scale_times_d_head",
        "Your scores are multiplied by d_head; they should be divided by its square root.",
        "the scale of the scores",
        "scale",
        ("times d_head",),
    ),
    _row(
        "scale_sqrt_T",
        "Your scores are divided by the root of the sequence length T, not by sqrt(d_head).",
        "the scale of the scores: which axis of q does its size come from?",
        "scale",
        ("sqrt T",),
    ),
    _row(
        "scale_sqrt_H",
        "Your scores are divided by the root of the number of heads H, not by sqrt(d_head).",
        "the scale of the scores: which axis of q does its size come from?",
        "scale",
        ("sqrt H",),
    ),
    _row(
        "scale_missing",
        "Your scores are not divided by sqrt(d_head).",
        "the line that makes the scores",
        "scale",
        ("none",),
    ),
    _row(
        "scale_after_softmax",
        "The weights after the softmax are divided by sqrt(d_head); it is the scores before it that should be.",
        "the order of scale and softmax",
        "scale",
        ("after",),
    ),
    _row(
        "scores_negated",
        "Your scores have the wrong sign, so that a position reads most from what fits least.",
        "the line that makes the scores",
        "scale",
        ("negative",),
    ),
    # --- the mask -----------------------------------------------------------------------------------------------------
    _row(
        "mask_missing",
        "No mask is applied: every position reads from all others, later ones too.",
        "the mask: is it built, but not used?",
        "mask",
        ("none",),
    ),
    _row(
        "mask_after_softmax",
        "The mask is applied after the softmax, so that the rows no longer sum to 1; it belongs before.",
        "the order of mask and softmax",
        "mask",
        ("after",),
    ),
    _row(
        "mask_zero",
        "Masked scores are set to 0, which a softmax still gives weight; they should be -inf.",
        "the mask: is it a product with zeros and ones?",
        "mask",
        ("zero",),
    ),
    _row(
        "mask_weak",
        "Masked scores are set to a number such as -10, which a softmax still gives some weight, not to -inf.",
        "the number that the mask fills in",
        "mask",
        ("-1", "-5", "-10"),
    ),
    _row(
        "mask_positive",
        "Masked scores are set to a large positive number, so that only what should be hidden is read.",
        "the sign of the number that the mask fills in",
        "mask",
        ("+1e9",),
    ),
    _row(
        "mask_upside_down",
        "The triangle is upside down: each position reads from itself and from later ones.",
        "the mask: which half of the triangle does it keep?",
        "mask",
        ("upside down",),
    ),
    _row(
        "mask_inverted",
        "The mask hides what it should show: each position reads only from later ones.",
        "the mask: does it keep where it should hide?",
        "mask",
        ("inverted",),
    ),
    _row(
        "mask_one_more",
        "The triangle keeps one diagonal too many: each position reads from the next one too.",
        "the mask: is its diagonal shifted by one?",
        "mask",
        ("one more",),
    ),
    _row(
        "mask_strict",
        "The mask hides each position from itself, so that the first one has nothing left to read.",
        "the mask: is its diagonal shifted by one?",
        "mask",
        ("strict",),
    ),
    _row(
        "mask_diagonal_only",
        "Each position reads from itself alone.",
        "the mask: does it keep only its diagonal?",
        "mask",
        ("diagonal only",),
    ),
    _row(
        "scores_lost",
        "Every position reads from all earlier ones alike, whatever the scores are: the mask drowns them.",
        "what is added to the scores that should count",
        "mask",
        ("uniform",),
    ),
    _row(
        "mask_all_nan",
        "Every row of weights has a NaN: the mask multiplies 0 by -inf somewhere, or it hides everything.",
        "how the mask is made",
    ),
    _row(
        "mask_not_cut",
        "The mask keeps its full size T_max x T_max, and does not fit scores of T x T.",
        "the mask in forward: it has to be cut to the length of the input",
    ),
    # --- the softmax --------------------------------------------------------------------------------------------------
    _row(
        "softmax_over_queries",
        "The softmax runs over the positions that look, not over those that are looked at.",
        "the axis (dim) of the softmax",
        "softmax",
        ("queries",),
    ),
    _row(
        "softmax_over_heads",
        "The softmax runs over the heads, not over the positions that are looked at.",
        "the axis (dim) of the softmax",
        "softmax",
        ("heads",),
    ),
    _row(
        "softmax_over_batch",
        "The softmax runs over the rows of the batch, not over the positions that are looked at.",
        "the axis (dim) of the softmax",
        "softmax",
        ("batch",),
    ),
    _row(
        "softmax_missing",
        "There is no softmax: masked scores are set to 0, and the others are used as weights as they are.",
        "the line between scores and weights",
        "softmax",
        ("none",),
    ),
    _row(
        "softmax_twice",
        "The softmax is applied twice, the second time to weights.",
        "the lines between scores and weights",
        "softmax",
        ("twice",),
    ),
    _row(
        "softmax_of_empty_columns",
        "Only the last position is finite: the softmax runs over an axis along which the mask leaves nothing.",
        "the axis (dim) of the softmax",
    ),
    _row(
        "weights_transposed",
        "The weights meet the values transposed: position t gets what others should have got from it.",
        "the product of weights and values",
        "read",
        ("transposed",),
    ),
    # --- queries, keys, values ----------------------------------------------------------------------------------------
    _row(
        "value_is_key",
        "Keys and values are made with one and the same matrix; each needs its own.",
        "which layer makes the values",
        "value",
        ("k",),
    ),
    _row(
        "value_is_query",
        "Queries and values are made with one and the same matrix; each needs its own.",
        "which layer makes the values",
        "value",
        ("q",),
    ),
    _row(
        "value_is_input",
        "The values are the input itself: a matrix of their own is missing, or not used.",
        "what the weights are multiplied with",
        "value",
        ("input",),
    ),
    _row(
        "key_is_query",
        "Queries and keys are made with one and the same matrix; each needs its own.",
        "which layer makes the queries, and which the keys",
        "key",
        ("q",),
    ),
    _row(
        "qkv_biases",
        "Query, key or value have biases; in this course they have none.",
        "the layers that make them",
    ),
    # --- heads --------------------------------------------------------------------------------------------------------
    _row(
        "heads_merged_wrongly",
        "The heads are merged without being moved back beside the features, which mixes positions and heads.",
        "the line that merges the heads: which order do its axes have?",
        "merge",
        ("without transpose",),
    ),
    _row(
        "heads_split_by_view",
        "(B, T, d) is viewed as (B, H, T, d_head) at once, which mixes positions and heads.",
        "the line that splits the heads",
        "split",
        ("by view",),
    ),
    _row(
        "heads_side_by_side_in_time",
        "The heads' results are put one after the other along time, and the width stays d_head.",
        "the axis (dim) along which the heads are put together",
    ),
    _row(
        "heads_wrong_number",
        "The width d is not split into the H heads asked for: is their number fixed, or are d and H swapped?",
        "where H is used",
    ),
    _row(
        "projections_doubled",
        "nn.MultiheadAttention projects by itself, and layers of your own in front of it project once more.",
        "what is in front of it",
    ),
    _row("heads_shared", "All heads are one and the same Head object; each needs its own.", "how the heads are made"),
    _row(
        "heads_share_keys_values",
        "The heads share one key or value matrix; each needs its own.",
        "the sizes of the key and value layers",
    ),
    _row(
        "heads_not_registered",
        "The heads are not among the parameters: nn.Module does not look into a Python list.",
        "what holds the heads",
    ),
    _row(
        "heads_small",
        "Each head projects only its own slice of x, d_head wide; every head should read all d features.",
        "what each head is given",
    ),
    _row(
        "heads_full_size",
        "Each head has the full width d; it should have d / H.",
        "the width that each head is made with",
    ),
    _row(
        "attention_over_batch",
        "The attention runs over the rows of the batch: the first axis of x is B, the second is T.",
        "axes that were swapped, or a batch_first",
        "over",
        ("batch",),
    ),
    # --- the output projection ----------------------------------------------------------------------------------------
    _row(
        "attention_adds_input",
        "The input is added to the output; that sum is the block's, not the attention's.",
        "the last line of forward",
        "add",
        ("input",),
    ),
    _row(
        "projection_missing",
        "The attention has no output projection.",
        "what __init__ makes: the heads side by side go through one more matrix",
    ),
    _row(
        "projection_unused",
        "The output projection is there, but what is returned has not gone through it.",
        "the last line of forward",
        "project",
        ("none",),
    ),
    _row(
        "projection_twice",
        "The output projection is applied twice.",
        "the last lines of forward",
        "project",
        ("twice",),
    ),
    _row(
        "projection_relu",
        "A ReLU follows the output projection; nothing should.",
        "the last line of forward",
        "project",
        ("relu",),
    ),
    _row(
        "projection_gelu",
        "A GELU follows the output projection; nothing should.",
        "the last line of forward",
        "project",
        ("gelu",),
    ),
    _row(
        "attention_proj_bias_missing",
        "The output projection has no bias; the formula has b_O there.",
        "the layer that makes the projection",
    ),
    _row(
        "mask_is_parameter",
        "The mask is counted among the parameters; it is no weight that could be learnt.",
        "how the mask is kept: a buffer moves with the model and is not counted",
    ),
)
