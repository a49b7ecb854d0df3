"""List mistakes in a student's own LayerNorm, in Block or in GPT."""

from __future__ import annotations

from functools import partial

from autograder.assignment.mistakes.row import Mistake

_norm = partial(Mistake, "norm", "task 5.3")


ROWS = (
    _norm(
        "norm_shared",
        "Both sublayers share one LayerNorm; each needs its own.",
        "the LayerNorms that the block creates",
    ),
    _norm("norm_bias_missing", "The LayerNorms have a gain but no bias.", "how the LayerNorms are created"),
    _norm("norm_gain_missing", "The LayerNorms have a bias but no gain.", "how the LayerNorms are created"),
    _norm(
        "norm_rms",
        "This is RMSNorm, not LayerNorm: the mean is not subtracted, and there is no bias.",
        "how the norms are created",
    ),
    _norm("norm_without_affine", "The LayerNorms have neither gain nor bias.", "how the LayerNorms are created"),
    _norm(
        "norm_unbiased",
        "LayerNorm uses the unbiased variance (over d - 1); it should be the biased one (over d).",
        "the variance or standard deviation in your LayerNorm",
        "norm",
        ("unbiased", "unbiased_eps_outside"),
    ),
    _norm(
        "norm_over_time",
        "LayerNorm runs over the positions (dim=-2); it should run over the d features (dim=-1).",
        "the dim of the mean and the variance",
        "norm",
        ("over_time",),
    ),
    _norm(
        "norm_over_batch",
        "LayerNorm runs over the batch (dim=0); it should run over the d features (dim=-1).",
        "the dim of the mean and the variance",
        "norm",
        ("over_batch",),
    ),
    _norm(
        "norm_over_both",
        "LayerNorm runs over positions and features together; it should run over the features only (dim=-1).",
        "the dim of the mean and the variance",
        "norm",
        ("over_both",),
    ),
    _norm(
        "norm_not_centred",
        "LayerNorm does not subtract the mean.",
        "the numerator of your LayerNorm",
        "norm",
        ("not_centred",),
    ),
    _norm(
        "norm_not_scaled",
        "LayerNorm subtracts the mean but does not divide by the standard deviation.",
        "the denominator of your LayerNorm",
        "norm",
        ("not_scaled",),
    ),
    _norm(
        "norm_divides_by_variance",
        "LayerNorm divides by the variance, not by its square root.",
        "the denominator of your LayerNorm",
        "norm",
        ("divides_by_variance",),
    ),
    _norm(
        "norm_eps_1",
        "LayerNorm has eps=1: a flag passed as its second argument sets eps.",
        "the arguments of your LayerNorms",
        "norm",
        ("eps_1",),
    ),
    _norm(
        "norm_eps_1e-3",
        "LayerNorm has eps=1e-3; PyTorch uses 1e-5.",
        "the arguments of your LayerNorms",
        "norm",
        ("eps_1e-3",),
    ),
    _norm(
        "norm_eps_outside",
        "LayerNorm's eps is outside the square root; accepted.",
        "",
        "norm",
        ("eps_outside",),
        accepted=True,
    ),
    _norm(
        "norm_eps_1e-6",
        "LayerNorm has eps=1e-6; PyTorch uses 1e-5. Accepted.",
        "",
        "norm",
        ("eps_1e-6",),
        accepted=True,
    ),
    _norm(
        "norm_eps_1e-12",
        "LayerNorm has almost no eps; PyTorch uses 1e-5. Accepted.",
        "",
        "norm",
        ("eps_1e-12",),
        accepted=True,
    ),
)
