"""The models that a student's verification suite is tried on: for each function, wrong ones that it should reject.

A row is a correct GPT with one change. The oracle computes it (under_test.py); only tensors' methods are used here, so
that the rows import without torch.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any

from autograder.assignment.oracle.model import Function, Steps, is_later

if TYPE_CHECKING:
    from torch import Tensor

    from autograder.assignment.sizes import Dims

Change = Callable[[dict[str, "Tensor"], "Dims"], None]  # of the initial weights, by the oracle's names
Loss = Callable[["Tensor", "Tensor"], "Tensor"]  # from logits (B, T, V) and targets (B, T)
Result = Callable[["Tensor", "Tensor | None"], Any]  # what forward returns, from the logits and the loss
GPT2_STD = 0.02


def cross_entropy(logits: Tensor, targets: Tensor) -> Tensor:
    """Compute the mean cross-entropy of logits (B, T, V) for targets (B, T)."""
    return -logits.log_softmax(-1).gather(-1, targets[..., None]).mean()


def give_loss_for_targets(logits: Tensor, loss: Tensor | None) -> Any:
    """Return the logits, or the logits and the loss if there are targets."""
    return logits if loss is None else (logits, loss)


@dataclass(frozen=True, slots=True, eq=False)
class WrongModel:
    """A wrong model, the function that should reject it, and words for it; the correct model has none of these.

    ``mask`` masks the scores (B, H, T, T) of a model of these sizes. ``hidden`` weights are used, but are not
    parameters. Of the models that one function makes, the first ``lucky`` are right.
    """

    function: str = ""
    name: str = ""
    told: str = ""  # completes "a model ..."
    mask: Callable[[Tensor, Dims], Tensor] | None = None
    steps: Mapping[str, Steps] = field(default_factory=dict)
    change: Change = lambda weights, n: None
    hidden: tuple[str, ...] = ()  # patterns of the oracle's names
    frozen: tuple[str, ...] = ()
    loss: Loss = cross_entropy
    result: Result = give_loss_for_targets
    order: Callable[[int], Sequence[int]] = range  # of the L blocks
    lucky: int = 0


# --- count_is_right ---------------------------------------------------------------------------------------------------


def _remove(*names: str) -> Change:
    def change(weights: dict[str, Tensor], n: Dims) -> None:
        for name in [name for name in weights if name.endswith(names)]:
            del weights[name]

    return change


def _add(name: str, shape: Callable[[Dims], tuple[int, ...]], in_each_block: bool = False) -> Change:
    def change(weights: dict[str, Tensor], n: Dims) -> None:
        for prefix in [f"{block}." for block in range(n.L)] if in_each_block else [""]:
            weights[f"{prefix}{name}"] = weights["tok"].new_zeros(shape(n))

    return change


def _add_biases(weights: dict[str, Tensor], n: Dims) -> None:
    for role in ("q", "k", "v"):
        _add(f"{role}.bias", lambda n: (n.H, n.d // n.H), in_each_block=True)(weights, n)


def _narrow_mlp(weights: dict[str, Tensor], n: Dims) -> None:
    """Keep half of the hidden units."""
    for block in range(n.L):
        up, bias, down = (f"{block}.{role}" for role in ("up", "up.bias", "down"))
        weights[up], weights[bias] = weights[up][:, ::2].clone(), weights[bias][::2].clone()
        weights[down] = weights[down][::2].clone()


def _add_position(weights: dict[str, Tensor], n: Dims) -> None:
    weights["pos"] = weights["pos"].repeat(2, 1)[: n.T_max + 1].clone()


def _remove_last_block(weights: dict[str, Tensor], n: Dims) -> None:
    _remove_prefix(weights, f"{n.L - 1}.")


def _share_blocks(weights: dict[str, Tensor], n: Dims) -> None:
    for block in range(1, n.L):
        _remove_prefix(weights, f"{block}.")


def _remove_prefix(weights: dict[str, Tensor], prefix: str) -> None:
    for name in [name for name in weights if name.startswith(prefix)]:
        del weights[name]


NO_FINAL_NORM = Steps(final_norm=lambda x, blocks, norm, run: run(x, blocks))

_count = partial(WrongModel, "count_is_right")
_COUNT = (
    _count("unembedding_bias", "whose unembedding has a bias", change=_add("head.bias", lambda n: (n.V,))),
    _count(
        "query_biases",
        "whose queries, keys and values have biases",
        change=_add_biases,
    ),
    _count("projection_bias_missing", "whose output projections have no bias", change=_remove(".o.bias")),
    _count(
        "without_final_norm",
        "without the final LayerNorm",
        steps={"model": NO_FINAL_NORM},
        hidden=("ln_f.*",),
    ),
    _count("tied", "whose unembedding is the token embedding", change=_remove("head")),
    _count("heads_in_a_list", "whose heads are in a plain list", hidden=("*.q", "*.k", "*.v")),
    _count("extra_position", "with T_max + 1 position embeddings", change=_add_position),
    _count("narrow_mlp", "whose MLPs have a hidden width of 2d", change=_narrow_mlp),
    _count("mlp_without_biases", "whose MLPs have no biases", change=_remove("up.bias", "down.bias")),
    _count("block_missing", "with L - 1 blocks", change=_remove_last_block, order=lambda L: range(L - 1)),
    _count("one_block_reused", "that uses one block L times", change=_share_blocks, order=lambda L: [0] * L),
    _count("scalar_unused", "with one parameter more than it needs", change=_add("scale", lambda n: (1,))),
    _count(
        "mask_as_parameter",
        "whose causal mask counts as a parameter that is not trained",
        change=_add("mask", lambda n: (n.T_max, n.T_max)),
        frozen=("mask",),
    ),
    _count("block_frozen", "in which the parameters of one block are not trainable", frozen=("0.*",)),
    _count("positions_frozen", "whose position embeddings are not trainable", frozen=("pos",)),
)

# --- is_causal --------------------------------------------------------------------------------------------------------


def _mask_unless(sees: Callable[[Tensor, Tensor, Dims], Any]) -> Callable[[Tensor, Dims], Tensor]:
    """Return the correct mask, except that query t also attends to key s where ``sees(t, s, n)``."""

    def mask(scores: Tensor, n: Dims) -> Tensor:
        positions = is_later(scores).new_ones(scores.shape[-1]).cumsum(0) - 1
        t, s = positions[:, None], positions[None, :]
        return scores.masked_fill(is_later(scores) & ~sees(t, s, n), -math.inf)

    return mask


def _mask_slices(keeps: Callable[[Tensor], Tensor]) -> Callable[[Tensor, Dims], Tensor]:
    """Return the correct mask, except for the part of the scores that ``keeps`` selects."""

    def mask(scores: Tensor, n: Dims) -> Tensor:
        masked = scores.masked_fill(is_later(scores), -math.inf)
        keeps(masked).copy_(keeps(scores))
        return masked

    return mask


def _normalise_over_time(x: Tensor) -> Tensor:
    """Centre and scale each feature over the positions."""
    centred = x - x.mean(1, keepdim=True)
    return centred / (centred.square().mean(1, keepdim=True) + 1e-5).sqrt()


LEAK = 1e-3  # relative to the outputs of the attention; logits then change by less than 1e-3

_causal = partial(WrongModel, "is_causal")
_CAUSAL = (
    _causal("no_mask", "without a causal mask", mask=lambda scores, n: scores),
    _causal(
        "one_head_unmasked",
        "in which one head has no mask",
        mask=_mask_slices(lambda scores: scores[:, 0]),
    ),
    _causal(
        "next_token_visible",
        "in which each position also attends to the next one",
        mask=_mask_unless(lambda t, s, n: s == t + 1),
    ),
    _causal(
        "last_token_leaks",
        "in which only the last token leaks, to the position before it",
        mask=_mask_unless(lambda t, s, n: (s == t + 1) & (s == s.max())),
    ),
    _causal(
        "first_position_leaks",
        "in which only position 0 attends to the next one",
        mask=_mask_unless(lambda t, s, n: (s == 1) & (t == 0)),
    ),
    _causal(
        "logits_nan",
        "whose logits are nan",
        mask=lambda scores, n: scores.masked_fill(is_later(scores, 0), -math.inf),
    ),
    _causal(
        "scores_multiplied",
        "whose masked scores are 0, not -inf",
        mask=lambda scores, n: scores.masked_fill(is_later(scores), 0.0),
    ),
    _causal(
        "small_leak",
        "in which later tokens change the logits by less than 0.001",
        steps={"attention": Steps(attend=lambda weights, v: weights @ v + LEAK * v.mean(-2, keepdim=True))},
    ),
    _causal(
        "softmax_over_rows",
        "whose softmax is over the queries",
        steps={"attention": Steps(softmax=lambda scores: scores.softmax(-2))},
    ),
    _causal(
        "full_length_leaks",
        "that leaks only for T = T_max",
        mask=_mask_unless(lambda t, s, n: s.max() + 1 == n.T_max),
    ),
    _causal(
        "short_length_leaks",
        "that leaks only for T below T_max",
        mask=_mask_unless(lambda t, s, n: s.max() + 1 < n.T_max),
    ),
    _causal(
        "far_tokens_leak",
        "in which only tokens far ahead leak",
        mask=_mask_unless(lambda t, s, n: s > t + 3),
    ),
    _causal(
        "second_row_leaks",
        "in which only the first row of a batch is masked",
        mask=_mask_slices(lambda scores: scores[1:]),
    ),
    _causal(
        "norm_over_positions",
        "whose LayerNorm is over the positions",
        steps={"block": Steps(normalise=_normalise_over_time)},
    ),
)

# --- initial_loss_is_right --------------------------------------------------------------------------------------------


def _rescale(name: str, std: Callable[[Dims], float]) -> Change:
    def change(weights: dict[str, Tensor], n: Dims) -> None:
        weights[name] *= std(n) / weights[name].std()

    return change


def _double_gain(weights: dict[str, Tensor], n: Dims) -> None:
    weights["ln_f.gain"] *= 2


def _tie(weights: dict[str, Tensor], n: Dims) -> None:
    del weights["head"]


_loss = partial(WrongModel, "initial_loss_is_right")
_LOSS = (
    _loss(
        "large_unembedding",
        "whose unembedding has standard deviation 1",
        change=_rescale("head", lambda n: 1.0),
    ),
    _loss(
        "xavier_unembedding",
        "whose unembedding has twice the standard deviation of PyTorch's default, or more",
        change=_rescale("head", lambda n: max(math.sqrt(2 / (n.V + n.d)), 2 / math.sqrt(3 * n.d))),
    ),
    _loss("tied_large", "whose unembedding is a token embedding of standard deviation 1", change=_tie),
    _loss("no_final_norm", "without the final LayerNorm", steps={"model": NO_FINAL_NORM}),
    _loss(
        "large_gain",
        "whose final LayerNorm starts with a gain of 2",
        change=_double_gain,
    ),
    _loss(
        "probabilities",
        "whose logits are already probabilities",
        steps={"model": Steps(unembed=lambda x, w: (x @ w["head"]).softmax(-1))},
    ),
    _loss("summed", "that sums the loss over the tokens", loss=lambda a, b: cross_entropy(a, b) * b.numel()),
    _loss(
        "divided_twice",
        "that divides the loss by T once too often",
        loss=lambda a, b: cross_entropy(a, b) / b.shape[1],
    ),
    _loss("negative", "whose loss is negative", loss=lambda a, b: -cross_entropy(a, b)),
    _loss("in_bits", "whose loss is in bits", loss=lambda a, b: cross_entropy(a, b) / math.log(2)),
    _loss("loss_nan", "whose loss is nan", loss=lambda a, b: cross_entropy(a, b) * math.nan),
    _loss(
        "one_lucky_seed",
        "that is right for one seed only",
        change=_rescale("head", lambda n: 1.0),
        lucky=1,
    ),
)

# --- shapes_are_right -------------------------------------------------------------------------------------------------


def _change_logits(change: Function, with_targets: bool = True) -> Result:
    def result(logits: Tensor, loss: Tensor | None) -> Any:
        return give_loss_for_targets(change(logits) if loss is None or with_targets else logits, loss)

    return result


_shapes = partial(WrongModel, "shapes_are_right")
_SHAPES = (
    _shapes(
        "last_logits_only",
        "that returns the logits of the last position only, unless there are targets",
        result=_change_logits(lambda logits: logits[:, -1:], with_targets=False),
    ),
    _shapes("flat", "whose logits have shape (B T, V)", result=_change_logits(lambda y: y.flatten(0, 1))),
    _shapes(
        "flat_with_targets",
        "whose logits have shape (B T, V) if there are targets",
        result=lambda logits, loss: logits if loss is None else (logits.flatten(0, 1), loss),
    ),
    _shapes(
        "row_squeezed",
        "whose logits lose the batch axis for B = 1",
        result=_change_logits(lambda logits: logits.squeeze(0)),
    ),
    _shapes(
        "token_squeezed",
        "whose logits lose the time axis for T = 1",
        result=_change_logits(lambda logits: logits.squeeze(1)),
    ),
    _shapes("axes_swapped", "whose logits have shape (T, B, V)", result=_change_logits(lambda y: y.transpose(0, 1))),
    _shapes("vocabulary_second", "whose logits have shape (B, V, T)", result=_change_logits(lambda y: y.mT)),
    _shapes(
        "no_unembedding",
        "whose outputs have shape (B, T, d)",
        steps={"model": Steps(unembed=lambda x, w: x)},
    ),
    _shapes(
        "one_logit_more",
        "with V + 1 logits for each position",
        result=_change_logits(lambda logits: logits[..., [*range(logits.shape[-1]), 0]]),
    ),
    _shapes(
        "padded",
        "whose logits have T_max positions for every T",
        steps={"model": Steps(unembed=lambda x, w: _pad(x @ w["head"], len(w["pos"])))},
        loss=lambda logits, targets: cross_entropy(logits[:, : targets.shape[1]], targets),
    ),
    _shapes(
        "fails_at_T_max",
        "that raises for T = T_max",
        steps={"model": Steps(add_positions=lambda tok, pos, idx: tok + pos[:-1][: idx.shape[1]])},
    ),
    _shapes("pair_always", "that returns a pair without targets too", result=lambda logits, loss: (logits, loss)),
    _shapes(
        "loss_per_position",
        "that returns a loss for each position",
        loss=lambda a, b: -a.log_softmax(-1).gather(-1, b[..., None])[..., 0],
    ),
    _shapes(
        "loss_per_row",
        "that returns a loss for each row",
        loss=lambda a, b: -a.log_softmax(-1).gather(-1, b[..., None])[..., 0].mean(1),
    ),
    _shapes(
        "pair_swapped",
        "that returns the loss first",
        result=lambda logits, loss: logits if loss is None else (loss, logits),
    ),
    _shapes("loss_missing", "that returns no loss with targets", result=lambda logits, loss: logits),
)


def _pad(logits: Tensor, length: int) -> Tensor:
    """Repeat the last position until there are ``length``."""
    return logits[:, [min(t, logits.shape[1] - 1) for t in range(length)]]


WRONG_MODELS = (*_COUNT, *_CAUSAL, *_LOSS, *_SHAPES)
RIGHT = WrongModel()


def named(function: str, name: str) -> WrongModel:
    """Return a row; the right model has no name."""
    return next((row for row in WRONG_MODELS if (row.function, row.name) == (function, name)), RIGHT)
