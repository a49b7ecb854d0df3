"""List mistakes in a student's own LayerNorm, in Block or in GPT."""

from __future__ import annotations

import math
from functools import partial
from typing import TYPE_CHECKING

from autograder.assignment.mistakes.row import CountChange, Effect, Mistake
from autograder.assignment.oracle.model import EPS, Steps
from autograder.assignment.oracle.parameter_count import OUTSIDE

if TYPE_CHECKING:
    from torch import Tensor

_norm = partial(Mistake, "norm", "task 5.3")


def _normalise(
    x: Tensor, axes: tuple[int, ...] = (-1,), eps: float = EPS, correction: int = 0, outside: bool = False
) -> Tensor:
    """Normalise over ``axes``, with ``eps`` inside the square root or ``outside``."""
    centred = x - x.mean(axes, keepdim=True)
    variance = _mean_square(centred, axes, correction)
    return centred / (variance.sqrt() + eps if outside else (variance + eps).sqrt())


def _mean_square(x: Tensor, axes: tuple[int, ...] = (-1,), correction: int = 0) -> Tensor:
    return x.square().sum(axes, keepdim=True) / (math.prod(x.shape[axis] for axis in axes) - correction)


def _divide_by_variance(x: Tensor) -> Tensor:
    centred = x - x.mean(-1, keepdim=True)
    return centred / (_mean_square(centred) + EPS)


def _divide_by_squared_variance(x: Tensor) -> Tensor:
    centred = x - x.mean(-1, keepdim=True)
    return centred / (_mean_square(centred) + EPS).square()


NORM_SHARED = _norm(
    "norm_shared",
    "Both sublayers share one LayerNorm; each needs its own.",
    "the LayerNorms that the block creates",
    counts=(CountChange("block_norms", lambda c: -2 * c.dims.d * c.dims.L, lambda c: len(c.norm_names()) == 1),),
)
NORM_BIAS_MISSING = _norm(
    "norm_bias_missing",
    "The LayerNorms have a gain but no bias.",
    "how the LayerNorms are created",
    counts=(
        CountChange(
            "block_norms",
            lambda c: -2 * c.dims.d * c.dims.L,
            lambda c: len(c.norm_names()) == 2 and not c.has_name("block_norms", "bias"),
        ),
        CountChange(OUTSIDE, lambda c: -c.dims.d, lambda c: c.has_table(c.dims.T_max)),
    ),
)
NORM_GAIN_MISSING = _norm(
    "norm_gain_missing",
    "The LayerNorms have a bias but no gain.",
    "how the LayerNorms are created",
    counts=(
        CountChange(
            "block_norms",
            lambda c: -2 * c.dims.d * c.dims.L,
            lambda c: len(c.norm_names()) == 2 and not c.has_name("block_norms", "weight"),
        ),
        CountChange(OUTSIDE, lambda c: -c.dims.d, lambda c: c.has_table(c.dims.T_max)),
    ),
)
NORM_RMS = _norm(
    "norm_rms",
    "This is RMSNorm, not LayerNorm: the mean is not subtracted, and there is no bias.",
    "how the norms are created",
    counts=(
        CountChange(
            "block_norms",
            lambda c: -2 * c.dims.d * c.dims.L,
            lambda c: len(c.norm_names()) == 2 and not c.has_name("block_norms", "bias"),
        ),
        CountChange(OUTSIDE, lambda c: -c.dims.d, lambda c: c.has_table(c.dims.T_max)),
    ),
)
NORM_WITHOUT_AFFINE = _norm(
    "norm_without_affine",
    "The LayerNorms have neither gain nor bias.",
    "how the LayerNorms are created",
    counts=(
        CountChange("block_norms", lambda c: -4 * c.dims.d * c.dims.L),
        CountChange(OUTSIDE, lambda c: -2 * c.dims.d),
    ),
)
NORM_UNBIASED = _norm(
    "norm_unbiased",
    "LayerNorm uses the unbiased variance (over d - 1); it should be the biased one (over d).",
    "the variance or standard deviation in your LayerNorm",
    steps=(
        Steps(normalise=partial(_normalise, correction=1)),
        Steps(normalise=partial(_normalise, correction=1, outside=True)),
    ),
)
NORM_OVER_TIME = _norm(
    "norm_over_time",
    "LayerNorm runs over the positions (dim=-2); it should run over the d features (dim=-1).",
    "the dim of the mean and the variance",
    steps=(Steps(normalise=partial(_normalise, axes=(-2,))),),
    effects=Effect.LEAKS_FUTURE | Effect.WEIGHTS_DO_NOT_SUM_TO_ONE,
)
NORM_OVER_BATCH = _norm(
    "norm_over_batch",
    "LayerNorm runs over the batch (dim=0); it should run over the d features (dim=-1).",
    "the dim of the mean and the variance",
    steps=(Steps(normalise=partial(_normalise, axes=(0,))),),
    effects=Effect.MIXES_ROWS | Effect.WEIGHTS_DO_NOT_SUM_TO_ONE,
)
NORM_OVER_BOTH = _norm(
    "norm_over_both",
    "LayerNorm runs over positions and features together; it should run over the features only (dim=-1).",
    "the dim of the mean and the variance",
    steps=(Steps(normalise=partial(_normalise, axes=(-2, -1))),),
    effects=Effect.LEAKS_FUTURE,
)
NORM_NOT_CENTRED = _norm(
    "norm_not_centred",
    "LayerNorm does not subtract the mean.",
    "the numerator of your LayerNorm",
    steps=(Steps(normalise=lambda x: x / (_mean_square(x) + EPS).sqrt()),),
)
NORM_NOT_SCALED = _norm(
    "norm_not_scaled",
    "LayerNorm subtracts the mean but does not divide by the standard deviation.",
    "the denominator of your LayerNorm",
    steps=(Steps(normalise=lambda x: x - x.mean(-1, keepdim=True)),),
    effects=Effect.CHANGES_INITIAL_LOSS,
)
NORM_DIVIDES_BY_VARIANCE = _norm(
    "norm_divides_by_variance",
    "LayerNorm divides by the variance, not by its square root.",
    "the denominator of your LayerNorm",
    steps=(Steps(normalise=_divide_by_variance),),
)
NORM_DIVIDES_BY_SQUARED_VARIANCE = _norm(
    "norm_divides_by_squared_variance",
    "LayerNorm divides by the square of the variance, not by its square root.",
    "the denominator of your LayerNorm",
    steps=(Steps(normalise=_divide_by_squared_variance),),
)
NORM_EPS_1 = _norm(
    "norm_eps_1",
    "LayerNorm has eps=1: a flag passed as its second argument sets eps.",
    "the arguments of your LayerNorms",
    steps=(Steps(normalise=partial(_normalise, eps=1.0)),),
)
NORM_EPS_1E_3 = _norm(
    "norm_eps_1e-3",
    "LayerNorm has eps=1e-3; PyTorch uses 1e-5.",
    "the arguments of your LayerNorms",
    steps=(Steps(normalise=partial(_normalise, eps=1e-3)),),
)
NORM_EPS_OUTSIDE = _norm(
    "norm_eps_outside",
    "LayerNorm's eps is outside the square root; accepted.",
    "",
    steps=(Steps(normalise=partial(_normalise, outside=True)),),
    accepted=True,
)
NORM_EPS_1E_6 = _norm(
    "norm_eps_1e-6",
    "LayerNorm has eps=1e-6; PyTorch uses 1e-5. Accepted.",
    "",
    steps=(Steps(normalise=partial(_normalise, eps=1e-6)),),
    accepted=True,
)
NORM_EPS_1E_12 = _norm(
    "norm_eps_1e-12",
    "LayerNorm's eps is very small; PyTorch uses 1e-5. Accepted.",
    "",
    steps=(Steps(normalise=partial(_normalise, eps=1e-12)),),
    accepted=True,
)
