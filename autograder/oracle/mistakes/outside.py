"""List mistakes that comparing outputs cannot show: loss, initialisation, count, generation, shapes and on paper.

A check names one of these if a number, a distribution or a list of tensors is exactly what the mistake produces.
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
    _loss("loss_summed", "That is the sum over all positions; it should be the mean.", "the arguments of the loss"),
    _loss("loss_of_inputs", "That is the loss against idx instead of the targets.", "the arguments of the loss"),
    _loss("loss_negated", "That is the correct loss with the wrong sign.", "the sign of the loss"),
    _loss("loss_of_last_position", "That is the loss at the last position only.", "the arguments of the loss"),
    _loss(
        "logits_in_another_order",
        "You get that loss if the logits are reordered and no longer match the targets.",
        "how the logits are flattened",
    ),
    _loss(
        "targets_in_another_order",
        "You get that loss if the targets are reordered and no longer match the logits.",
        "how the targets are flattened",
    ),
    _loss(
        "targets_shifted_twice",
        "You get that loss if the targets are shifted by one; forward's targets already are.",
        "slices of logits or targets before the loss",
    ),
    _loss(
        "loss_over_wrong_axis",
        "F.cross_entropy takes positions for classes: it expects the classes on dim=1.",
        "the shapes of its inputs",
    ),
    _loss(
        "loss_of_probabilities",
        "You get that loss if F.cross_entropy is given probabilities; it applies the softmax itself.",
        "a softmax before the loss",
    ),
    _loss(
        "loss_detached",
        "The loss does not depend on the parameters: it is detached from the graph.",
        "detach, item, no_grad or a new tensor between logits and loss",
    ),
    _loss(
        "logits_flat",
        "With targets, the logits are returned flattened to (B*T, V).",
        "the tensor flattened for the loss, and the one returned",
    ),
    _loss(
        "logits_of_last_position",
        "Only the last position's logits are returned; forward should return those of all positions.",
        "a slice of x before the unembedding",
    ),
    _loss(
        "logits_not_returned",
        "With targets, only the loss is returned; return the logits, then the loss.",
        "the last line of forward",
    ),
    # --- initialisation -----------------------------------------------------------------------------------------------
    _start(
        "weights_uninitialised",
        "A parameter is never initialised: it starts with arbitrary values, or with values that are not finite.",
        "torch.empty, which reserves memory without filling it",
    ),
    _start(
        "head_starts_wide",
        "The unembedding's initial weights are too large, and that alone spreads the logits this much.",
        "the initialisation of the unembedding",
    ),
    _start(
        "scaling_missing",
        "Neither projection is scaled: the scaling is missing, or a later initialisation undoes it.",
        "the order in which GPT builds, initialises and scales",
    ),
    _start(
        "scaling_attention_missing",
        "The MLP's down-projection is scaled, but the attention's projection is not.",
        "the loop that scales",
    ),
    _start(
        "scaling_mlp_missing",
        "The attention's projection is scaled, but the MLP's down-projection is not.",
        "the loop that scales",
    ),
    _start(
        "scaling_sqrt_L",
        "Both are scaled by 1/sqrt(L), but each block adds to the residual stream twice: 2L additions.",
        "the factor",
    ),
    _start(
        "scaling_wrong_constant",
        "The factor shrinks with L, but it is not 1/sqrt(2L): each block adds to the residual stream twice.",
        "the factor",
    ),
    _start(
        "scaling_of_other_matrices",
        "Matrices that don't add to the residual stream are scaled; in each block, scale only "
        "the attention's projection and the MLP's down-projection.",
        "which matrices the loop scales",
    ),
    _start(
        "scaling_without_root",
        "Both are scaled by 1/(2L); variances add up, so the factor is its square root, 1/sqrt(2L).",
        "the factor",
    ),
    _start(
        "scaling_inverted",
        "The factor is sqrt(2L), so the weights grow instead of shrinking.",
        "the factor",
    ),
    _start(
        "scaling_fixed",
        "Something is scaled, but by a factor that does not depend on the number of blocks.",
        "the factor: it should use the L passed to GPT",
    ),
    _start(
        "scaling_of_biases",
        "The biases of both are scaled, but the weights are not.",
        "which tensors the loop scales",
    ),
    _start(
        "scaling_of_shared_block",
        "All blocks are the same object, so the loop over them scales it L times.",
        "how the blocks are created",
    ),
    # --- the count ----------------------------------------------------------------------------------------------------
    _count("final_norm_missing", "There is no final LayerNorm.", "the layers that GPT creates after its blocks"),
    _count("position_row_missing", "The position embedding has one row too few.", "the sizes of the embeddings"),
    _count("position_row_extra", "The position embedding has one row too many.", "the sizes of the embeddings"),
    _count(
        "positions_per_row",
        "The position embedding has a batch axis: one table per batch row.",
        "the shape of the position embedding",
    ),
    _count(
        "vocabulary_row_missing",
        "Both V x d matrices have one row too few.",
        "the sizes of the embedding and of the unembedding",
    ),
    _count(
        "embedding_missing",
        "One of the two V x d matrices is missing.",
        "the token embedding and the unembedding",
    ),
    _count("mlp_shared", "All blocks share one MLP object; each needs its own.", "where the MLPs are created"),
    _count(
        "blocks_shared",
        "All blocks are the same Block object; each needs its own.",
        "how the list of blocks is created",
    ),
    _count(
        "blocks_not_registered",
        "The blocks' parameters are not registered: nn.Module doesn't look into a Python list.",
        "the container that holds the blocks",
    ),
    _count(
        "parameters_unused",
        "All parameters beyond the expected number are unused: __init__ creates them, and no logit depends on them.",
        "the modules that forward never calls",
    ),
    _count(
        "sizes_fixed",
        "The count is right only at the course's sizes: a size is hard-coded or global.",
        "the sizes: they should come from the constructor's arguments",
    ),
    # --- generation ---------------------------------------------------------------------------------------------------
    _generate(
        "generate_argmax",
        "generate always takes the most likely token; it should sample from the distribution.",
        "the line that picks the token",
    ),
    _generate(
        "generate_remembers",
        "generate depends on earlier calls: in a new process each of them gives the right tokens.",
        "what is kept between calls, such as a cache of keys and values",
    ),
    _generate(
        "generate_one_draw",
        "One token is sampled for the whole batch; each row needs its own sample.",
        "the line that samples",
    ),
    _generate(
        "generate_uniform",
        "Tokens are sampled uniformly; the logits have no effect.",
        "the dim of the softmax, and the tensor that you sample from",
    ),
    _generate(
        "generate_first_position",
        "Tokens are sampled from the first position's logits; use the last position's.",
        "the index of the position whose logits are used",
    ),
    _generate(
        "generate_other_position",
        "Tokens are sampled from some other position's logits; use the last position's.",
        "the index of the position whose logits are used",
    ),
    _generate(
        "generate_rows_mixed",
        "One row's tokens are sampled from another row's logits.",
        "how the sampled tokens are appended to the rows",
    ),
    _generate(
        "generate_crops_first",
        "The context is cropped to the first T_max tokens, so new tokens are ignored; keep the last T_max.",
        "the crop",
    ),
    _generate(
        "generate_without_crop",
        "The context is not cropped, and there are only T_max position embeddings.",
        "the model's input in each step",
    ),
    _generate(
        "generate_overwrites_idx",
        "The crop overwrites the sequence itself, so its beginning is lost.",
        "the tensor that is cropped, and the one that the new token is appended to",
    ),
    _generate(
        "generate_stops_at_T_max",
        "generate stops at T_max tokens; with the crop it can continue.",
        "the condition of the loop",
    ),
    _generate(
        "generate_new_tokens_only",
        "The returned tokens do not include the prompt.",
        "the tensor that the new tokens are appended to",
    ),
    _generate(
        "generate_wrong_number",
        "The number of new tokens is not max_new_tokens.",
        "the number of loop iterations",
    ),
    _generate(
        "generate_fixed_seed",
        "generate sets the seed, so every call gives the same continuation.",
        "the call that sets a seed",
    ),
    _generate(
        "generate_from_logits",
        "torch.multinomial is given logits, which may be negative; it needs probabilities.",
        "the line before the sampling",
    ),
    _generate(
        "generate_temperature",
        "Tokens are sampled from scaled logits: the distribution is sharper or flatter than the model's.",
        "the line before the sampling",
    ),
    # --- the shape table ----------------------------------------------------------------------------------------------
    _shapes("shapes_printed", "The table is printed but not returned.", "the last line of the function"),
    _shapes(
        "shapes_tensors", "The rows contain whole tensors; they should contain shapes.", "the contents of each row"
    ),
    _shapes(
        "shapes_reversed",
        "The stages are in reverse order; list them in the order of computation.",
        "the order of the rows",
    ),
    _shapes(
        "shapes_without_batch",
        "The shapes leave out the batch axis.",
        "how each shape is taken from its tensor",
    ),
    _shapes(
        "shapes_fixed",
        "A size is hard-coded in the table; at other sizes it is wrong.",
        "the shapes: take each one from a tensor that went through the model",
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
        "It returns the same numbers for all arguments.",
        "the letters V, T_max, d and L in your formula",
    ),
    _formula(
        "formula_biases_forgotten",
        "The biases of this part are not counted.",
        "which of its matrices have a bias, and how long each one is",
    ),
    _formula(
        "formula_biases_added",
        "Biases are counted for query, key and value; in this course they have none.",
        "the term of the attention",
    ),
    _formula("formula_tied", "The V x d matrix is counted once; the untied model has two.", "the last term"),
    _formula(
        "shares_as_fractions",
        "These are fractions of 1; they should be percentages.",
        "the factor",
    ),
    _formula(
        "shares_of_blocks",
        "These are shares of the blocks' parameters; they should be shares of all parameters.",
        "the denominator",
    ),
    _formula(
        "matrices_of_one_head",
        "The query, key and value matrices are those of one head; a block has H heads.",
        "the sizes of the attention's matrices",
    ),
    _expected(
        "expected_loss_gap_missing",
        "That is just ln V: the spread of the logits adds a second term.",
        "the second term",
    ),
    _expected(
        "expected_loss_gap_doubled",
        "The second term is twice as large as it should be.",
        "ln E[exp z] for a normal z",
    ),
    _expected(
        "expected_loss_one_term",
        "That uses the variance of one term, but a logit is a sum of d terms.",
        "the variance of a logit",
    ),
    _expected(
        "expected_loss_gap_negative",
        "The second term has the wrong sign: uneven logits raise the loss above ln V.",
        "the sign of the second term",
    ),
    _expected(
        "expected_loss_deviation",
        "The standard deviation is used where the variance belongs.",
        "the second term",
    ),
    _geometry("geometry_not_centred", "The mean is not subtracted.", "the projection orthogonal to the vector of ones"),
    _geometry(
        "geometry_unbiased",
        "That is sqrt(d - 1): the variance is divided by d - 1, not d.",
        "how the standard deviation is computed",
    ),
    # --- going further ------------------------------------------------------------------------------------------------
    _bonus(
        "tied_by_copy",
        "Both matrices hold the same values in two tensors, which diverge at the first training step.",
        "how the unembedding gets its weight",
    ),
    _bonus(
        "tied_starts_wide",
        "nn.Embedding is initialised with standard deviation 1, far too large for an unembedding.",
        "the initialisation of the shared matrix",
    ),
    _bonus(
        "products_transposed",
        "One product is transposed: x is a row vector, so W_Q multiplies it from the right.",
        "the order of the two matrices",
    ),
    _bonus(
        "products_of_wrong_rows",
        "The OV products use the output projection's matrix transposed.",
        "the side of proj.weight that a head's output multiplies",
    ),
)
