"""Mistakes that no comparison of outputs shows: of the loss, the start, the count, generation, shapes, and on paper.

A check names one of these where a number, a distribution or a list of tensors is exactly what the mistake gives.
"""

from __future__ import annotations

from functools import partial

from autograder.oracle.mistakes.row import Mistake

_loss = partial(Mistake, "loss", "task 5.3")
_start = partial(Mistake, "initial_loss", "task 5.4 (3)")
_count = partial(Mistake, "parameters", "task 5.4 (1)")
_generate = partial(Mistake, "generation", "task 5.3")
_shapes = partial(Mistake, "shapes", "task 5.4 (4)")
_formula = partial(Mistake, "formula", "on paper, 2")
_expected = partial(Mistake, "expected_loss", "task 5.4 (3)")
_geometry = partial(Mistake, "geometry", "on paper, 3")
_bonus = partial(Mistake, "bonus", "going further")

ROWS = (
    # --- logits and loss ----------------------------------------------------------------------------------------------
    _loss("loss_summed", "That is the sum over all positions; the mean is asked for.", "the arguments of the loss"),
    _loss("loss_of_inputs", "That is the loss against idx itself, not against the targets.", "what the loss is given"),
    _loss("loss_negated", "That is the right loss with the wrong sign.", "the sign of the loss"),
    _loss("loss_of_last_position", "That is the loss of the last position alone.", "what the loss is given"),
    _loss(
        "logits_in_another_order",
        "That comes out when the logits change places before they meet the targets.",
        "how the logits are flattened",
    ),
    _loss(
        "targets_in_another_order",
        "That comes out when the targets change places before they meet the logits.",
        "how the targets are flattened",
    ),
    _loss(
        "targets_shifted_twice",
        "That comes out when the targets are shifted by one; those that forward is given are shifted already.",
        "slices of logits or targets before the loss",
    ),
    _loss(
        "loss_over_wrong_axis",
        "That comes out when F.cross_entropy takes positions for classes: it expects the classes in axis 1.",
        "the shapes that it is given",
    ),
    _loss(
        "loss_of_probabilities",
        "That comes out when F.cross_entropy is given probabilities; it applies the softmax itself.",
        "a softmax before the loss",
    ),
    _loss(
        "loss_detached",
        "The loss does not depend on the parameters: it was taken out of the graph.",
        "detach, item, no_grad or a new tensor between logits and loss",
    ),
    _loss(
        "logits_flat",
        "With targets the logits come back flattened to (B T, V).",
        "which tensor is flattened for the loss, and which is returned",
    ),
    _loss(
        "logits_of_last_position",
        "Only the logits of the last position are returned; forward gives those of all positions.",
        "a slice of x before the unembedding",
    ),
    _loss(
        "logits_not_returned",
        "With targets only the loss comes back; both are asked for, the logits first.",
        "the last line of forward",
    ),
    # --- the start ----------------------------------------------------------------------------------------------------
    _start(
        "head_starts_wide",
        "The entries of the unembedding start too far apart, and that alone spreads the logits so.",
        "what initialises the unembedding",
    ),
    _start(
        "scaling_missing",
        "Neither projection ends up scaled: the scaling is missing, or a later initialisation undoes it.",
        "the order in which GPT builds, initialises and scales",
    ),
    _start(
        "scaling_attention_missing",
        "The MLP's down-projection is scaled, and the attention's projection is not.",
        "the loop that scales",
    ),
    _start(
        "scaling_mlp_missing",
        "The attention's projection is scaled, and the MLP's down-projection is not.",
        "the loop that scales",
    ),
    _start(
        "scaling_sqrt_L",
        "Both are scaled by 1/sqrt(L), but each block adds to the residual stream twice: there are 2L additions.",
        "the factor",
    ),
    _start(
        "scaling_wrong_constant",
        "The factor shrinks with L as it should, but it is not 1/sqrt(2L): each block adds to the residual stream "
        "twice.",
        "the factor",
    ),
    _start(
        "scaling_of_other_matrices",
        "Matrices are scaled that add nothing to the residual stream; of each block, only the attention's projection "
        "and the MLP's down-projection should be.",
        "which matrices the loop scales",
    ),
    _start(
        "scaling_without_root",
        "Both are scaled by 1/(2L); variances add up, so the factor is the root of that, 1/sqrt(2L).",
        "the factor",
    ),
    _start(
        "scaling_inverted",
        "The factor is sqrt(2L), which enlarges what should shrink.",
        "the factor",
    ),
    _start(
        "scaling_fixed",
        "Something is scaled, but by a factor that does not depend on the number of blocks.",
        "the factor: the L in it should be the one that GPT is given",
    ),
    _start(
        "scaling_of_biases",
        "The biases of both are scaled, and the weights are not.",
        "which tensors the loop scales",
    ),
    _start(
        "scaling_of_shared_block",
        "All blocks are one object, and the loop over them scales it L times.",
        "how the blocks are made",
    ),
    # --- the count ----------------------------------------------------------------------------------------------------
    _count("final_norm_missing", "There is no final LayerNorm.", "what GPT makes after its blocks"),
    _count("position_row_missing", "The table of positions has one row too few.", "the sizes of the embeddings"),
    _count("position_row_extra", "The table of positions has one row too many.", "the sizes of the embeddings"),
    _count(
        "positions_per_row",
        "The table of positions has an axis for the batch: one table for each row.",
        "the shape of the position table",
    ),
    _count(
        "vocabulary_row_missing",
        "Both V x d matrices have one row too few.",
        "the sizes of the embedding and of the unembedding",
    ),
    _count(
        "embedding_missing",
        "One of the two V x d matrices is not there.",
        "the token embedding and the unembedding",
    ),
    _count("mlp_shared", "All blocks share one MLP object; each needs its own.", "where the MLPs are made"),
    _count(
        "blocks_shared",
        "All blocks are the same Block object; each needs its own.",
        "how the list of blocks is made",
    ),
    _count(
        "blocks_not_registered",
        "The blocks are not among the parameters: nn.Module does not look into a Python list.",
        "what holds the blocks",
    ),
    _count(
        "sizes_fixed",
        "The count is right at the course's sizes alone: a size is a fixed number or a global.",
        "where sizes come from: the constructor's arguments",
    ),
    # --- generation ---------------------------------------------------------------------------------------------------
    _generate(
        "generate_argmax",
        "It takes the likeliest token each time; a token should be drawn with its probability.",
        "the line that chooses the token",
    ),
    _generate(
        "generate_one_draw",
        "One token is drawn for the whole batch; each row needs a draw of its own.",
        "the line that draws",
    ),
    _generate(
        "generate_uniform",
        "All tokens are drawn alike, whatever the logits say.",
        "the axis (dim) of the softmax, and what is drawn from",
    ),
    _generate(
        "generate_first_position",
        "The tokens follow the logits at the first position; the last one says what comes next.",
        "which position's logits are used",
    ),
    _generate(
        "generate_other_position",
        "The tokens follow the logits at another position than the last, which says what comes next.",
        "which position's logits are used",
    ),
    _generate(
        "generate_rows_mixed",
        "The tokens of one row follow the logits of another.",
        "how the drawn tokens are put beside the rows",
    ),
    _generate(
        "generate_crops_first",
        "The context is cropped to the first T_max tokens, so new ones soon stop to matter; the last T_max count.",
        "the crop",
    ),
    _generate(
        "generate_without_crop",
        "The context is not cropped, and the position table ends at T_max.",
        "what the model is given in each step",
    ),
    _generate(
        "generate_overwrites_idx",
        "The sequence itself is overwritten with the crop, and its beginning is lost.",
        "what is cropped, and what the new token is joined to",
    ),
    _generate(
        "generate_stops_at_T_max",
        "It stops once there are T_max tokens; the crop lets it go on.",
        "the condition of the loop",
    ),
    _generate(
        "generate_new_tokens_only",
        "The prompt is left out of what is returned.",
        "what the new tokens are joined to",
    ),
    _generate(
        "generate_wrong_number",
        "The number of new tokens is not max_new_tokens.",
        "how often the loop runs",
    ),
    _generate(
        "generate_fixed_seed",
        "The seed is set inside generate, so every call gives the same continuation.",
        "a call that sets a seed",
    ),
    _generate(
        "generate_from_logits",
        "torch.multinomial is given logits, which may be negative; it needs probabilities.",
        "the line before the draw",
    ),
    _generate(
        "generate_temperature",
        "The draws follow a softmax of scaled logits: the distribution is sharper or flatter than the model's.",
        "the line before the draw",
    ),
    # --- the shape table ----------------------------------------------------------------------------------------------
    _shapes("shapes_printed", "The table is printed, and nothing is returned.", "the last line of the function"),
    _shapes("shapes_tensors", "The rows hold whole tensors; their shapes are asked for.", "what each row is made of"),
    _shapes(
        "shapes_reversed",
        "The stages are all there, in reverse order; the order is that of the computation.",
        "the order of the rows",
    ),
    _shapes(
        "shapes_without_batch",
        "The shapes leave out the batch axis.",
        "how each shape is taken from its tensor",
    ),
    _shapes(
        "shapes_fixed",
        "A size is written into the table as a number; at other sizes it is wrong.",
        "where the shapes come from: a tensor that went through the model",
    ),
    _shapes(
        "shapes_row_missing",
        "One stage has no row.",
        "the rows after the embeddings, each block, the final LayerNorm and the unembedding",
    ),
    # --- on paper -----------------------------------------------------------------------------------------------------
    _formula(
        "formula_printed",
        "The function prints its result and returns nothing.",
        "its last line",
    ),
    _formula(
        "formula_fixed",
        "It returns the same numbers whatever it is given.",
        "the letters V, T_max, d and L in your formula",
    ),
    _formula(
        "formula_biases_forgotten",
        "The biases of this part are forgotten.",
        "which of its matrices come with a bias, and of which length",
    ),
    _formula(
        "formula_biases_added",
        "Biases are counted for query, key and value; in this course they have none.",
        "the term of the attention",
    ),
    _formula("formula_tied", "The V x d matrix is counted once; the untied model has two.", "the last term"),
    _formula(
        "shares_as_fractions",
        "They are fractions of 1; percentages are asked for.",
        "the factor",
    ),
    _formula(
        "shares_of_blocks",
        "They are shares of the blocks' parameters; shares of all parameters are asked for.",
        "what is divided by",
    ),
    _formula(
        "matrices_of_one_head",
        "The query, key and value matrices are those of one head; a block has H heads.",
        "the sizes of the attention's matrices",
    ),
    _expected(
        "expected_loss_gap_missing",
        "That is ln V alone: logits that are not all alike add to it.",
        "the second term",
    ),
    _expected(
        "expected_loss_gap_doubled",
        "The second term is twice what it should be.",
        "ln E[exp z] for a normal z",
    ),
    _expected(
        "expected_loss_one_term",
        "A logit is a sum of d terms, and the variance of one is used.",
        "the variance of a logit",
    ),
    _expected(
        "expected_loss_gap_negative",
        "The gap has the wrong sign: uneven logits make the loss larger than ln V.",
        "the sign of the second term",
    ),
    _expected(
        "expected_loss_deviation",
        "The standard deviation stands where the variance belongs.",
        "the second term",
    ),
    _geometry("geometry_not_centred", "The mean is not subtracted.", "the projection onto what is orthogonal to 1"),
    _geometry(
        "geometry_unbiased",
        "That is sqrt(d - 1): the variance is divided by d - 1.",
        "how the deviation is computed",
    ),
    # --- going further ------------------------------------------------------------------------------------------------
    _bonus(
        "tied_by_copy",
        "Both matrices hold the same values in two tensors: a copy goes its own way at the first step of training.",
        "how the unembedding gets its weight",
    ),
    _bonus(
        "tied_starts_wide",
        "nn.Embedding starts with entries of standard deviation 1, far too large for an unembedding.",
        "what initialises the shared matrix",
    ),
    _bonus(
        "products_transposed",
        "One product would fit if it were transposed: x is a row, so W_Q meets it from the right.",
        "the order of the two matrices",
    ),
    _bonus(
        "products_of_wrong_rows",
        "The OV products use the projection's matrix the wrong way round.",
        "which side of proj.weight a head's result meets",
    ),
)
