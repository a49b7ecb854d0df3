"""Mistakes in a LayerNorm of the student's own, wherever it is."""

from __future__ import annotations

from functools import partial

from autograder.oracle.mistakes.row import Mistake

_norm = partial(Mistake, "norm", "task 5.3")


ROWS = (
    _norm(
        "norm_shared",
        "There is one LayerNorm where each of the two sublayers needs its own.",
        "how many norms the block makes",
    ),
    _norm("norm_bias_missing", "The LayerNorms have a gain but no bias.", "how the norms are made"),
    _norm("norm_gain_missing", "The LayerNorms have a bias but no gain.", "how the norms are made"),
    _norm(
        "norm_rms",
        "This is RMSNorm: the mean is not subtracted, and there is no bias.",
        "how the norms are made",
    ),
    _norm("norm_without_affine", "The LayerNorms have neither gain nor bias.", "how the norms are made"),
    _norm(
        "norm_unbiased",
        "LayerNorm divides by the unbiased deviation, with d - 1 in it, not by the biased one.",
        "the variance or deviation in it",
        "norm",
        ("unbiased", "unbiased, eps outside"),
    ),
    _norm(
        "norm_over_time",
        "LayerNorm runs over the positions; it should run over the d features of each.",
        "the axis of the mean and of the variance",
        "norm",
        ("over time",),
    ),
    _norm(
        "norm_over_batch",
        "LayerNorm runs over the rows of the batch; it should run over the d features of each position.",
        "the axis of the mean and of the variance",
        "norm",
        ("over batch",),
    ),
    _norm(
        "norm_over_both",
        "LayerNorm runs over positions and features together; it should run over the features alone.",
        "the axes of the mean and of the variance",
        "norm",
        ("over both",),
    ),
    _norm(
        "norm_not_centred",
        "LayerNorm does not subtract the mean.",
        "the numerator in your norm",
        "norm",
        ("not centred",),
    ),
    _norm(
        "norm_not_divided",
        "LayerNorm subtracts the mean, but does not divide by the deviation.",
        "the denominator in your norm",
        "norm",
        ("not divided",),
    ),
    _norm(
        "norm_by_variance",
        "LayerNorm divides by the variance, not by its root.",
        "the denominator in your norm",
        "norm",
        ("by variance",),
    ),
    _norm(
        "norm_eps_1",
        "LayerNorm has eps=1: a flag passed as its second argument lands there.",
        "the arguments of your norms",
        "norm",
        ("eps 1",),
    ),
    _norm(
        "norm_eps_1e-3",
        "LayerNorm has eps=1e-3; PyTorch's is 1e-5.",
        "the arguments of your norms",
        "norm",
        ("eps 1e-3",),
    ),
    _norm(
        "norm_eps_outside",
        "LayerNorm's eps stands outside the root; accepted.",
        "",
        "norm",
        ("eps outside",),
        accepted=True,
    ),
    _norm(
        "norm_eps_1e-6",
        "LayerNorm has eps=1e-6; PyTorch's is 1e-5. Accepted.",
        "",
        "norm",
        ("eps 1e-6",),
        accepted=True,
    ),
    _norm(
        "norm_eps_1e-12",
        "LayerNorm has next to no eps; PyTorch's is 1e-5. Accepted.",
        "",
        "norm",
        ("eps 1e-12",),
        accepted=True,
    ),
)
