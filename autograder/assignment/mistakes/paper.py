"""List mistakes in the functions of paper.py."""

from __future__ import annotations

from functools import partial

from autograder.assignment.mistakes.row import Mistake

_formula = partial(Mistake, "formula", "on paper, 2")
_expected = partial(Mistake, "expected_loss", "task 5.4 (3)")
_geometry = partial(Mistake, "geometry", "on paper, 3")

FORMULA_PRINTED = _formula(
    "formula_printed", "The function prints its result and returns nothing.", "the last line of the function"
)
FORMULA_CONSTANT = _formula(
    "formula_constant",
    "The function returns the same numbers for all arguments.",
    "the letters V, T_max, d and L in your formula",
)
FORMULA_BIASES_MISSING = _formula(
    "formula_biases_missing",
    "The biases of this part are not counted.",
    "which of its matrices have a bias, and how long each one is",
)
FORMULA_BIASES_ADDED = _formula(
    "formula_biases_added",
    "Biases are counted for query, key and value; in this course they have none.",
    "the term of the attention",
)
FORMULA_TIED = _formula("formula_tied", "The V x d matrix is counted once; the untied model has two.", "the last term")
SHARES_AS_FRACTIONS = _formula(
    "shares_as_fractions",
    "These are fractions of 1; they should be percentages.",
    "the conversion to percentages: is the factor 100 missing?",
)
SHARES_OF_BLOCKS = _formula(
    "shares_of_blocks",
    "These are shares of the blocks' parameters; they should be shares of all parameters.",
    "the denominator",
)
MATRICES_OF_ONE_HEAD = _formula(
    "matrices_of_one_head",
    "The query, key and value matrices are those of one head; a block has H heads.",
    "the sizes of the attention's matrices",
)
EXPECTED_LOSS_GAP_MISSING = _expected(
    "expected_loss_gap_missing", "That is just ln V: the spread of the logits adds a second term.", "the second term"
)
EXPECTED_LOSS_GAP_DOUBLED = _expected(
    "expected_loss_gap_doubled", "The second term is twice as large as it should be.", "ln E[exp z] for a normal z"
)
EXPECTED_LOSS_ONE_TERM = _expected(
    "expected_loss_one_term",
    "That uses the variance of one term, but a logit is a sum of d terms.",
    "the variance of a logit",
)
EXPECTED_LOSS_GAP_NEGATIVE = _expected(
    "expected_loss_gap_negative",
    "The second term has the wrong sign: uneven logits raise the loss above ln V.",
    "the sign of the second term",
)
EXPECTED_LOSS_STD = _expected(
    "expected_loss_std", "The standard deviation is used where the variance belongs.", "the second term"
)
GEOMETRY_NOT_CENTRED = _geometry(
    "geometry_not_centred", "The mean is not subtracted.", "the projection orthogonal to the vector of ones"
)
GEOMETRY_UNBIASED = _geometry(
    "geometry_unbiased",
    "That is sqrt(d - 1): the variance is divided by d - 1, not d.",
    "how the standard deviation is computed",
)
