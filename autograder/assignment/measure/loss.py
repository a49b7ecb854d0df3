"""Read the loss that forward returns for targets, and find the mistake that explains a wrong one."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from autograder.assignment import mistakes
from autograder.assignment.measure import outputs
from autograder.assignment.measure.numeric import cross_entropy, softmax, uniform_cross_entropy
from autograder.assignment.mistakes import Mistake
from autograder.assignment.sizes import Dims
from autograder.grading.verdict import Failed
from autograder.sandbox.remote.errors import StudentError
from autograder.sandbox.remote.proxy import ModuleProxy


@dataclass(frozen=True)
class LossPass:
    """One pass of forward with targets: its logits (B, T, V), the loss it returned, and the cross-entropy."""

    idx: np.ndarray
    targets: np.ndarray
    logits: np.ndarray
    loss: float
    is_flat: bool = False  # whether the logits were returned as (B*T, V)

    @property
    def right(self) -> float:
        """The mean cross-entropy of the returned logits; dividing by it gives infinity if it is 0."""
        return np.float64(cross_entropy(self.logits, self.targets))


def compute_loss(
    model: ModuleProxy,
    dims: Dims,
    batch: int,
    length: int,
    rng: np.random.Generator,
    targets: np.ndarray | None = None,
) -> LossPass:
    """Call forward with targets, random ones if not given; raise Failed if the logits differ from those without."""
    idx, drawn = rng.integers(0, dims.V, (batch, length)), rng.integers(0, dims.V, (batch, length))
    targets = drawn if targets is None else targets
    shape = (batch, length, dims.V)
    plain = outputs.require_logits(model(idx), shape)
    logits, loss = read_logits_and_loss(model(idx, targets))
    is_flat = logits.shape == (batch * length, dims.V)
    logits = outputs.require_tensor(logits.reshape(shape) if logits.size == plain.size else logits, shape)
    if not np.abs(logits - plain).max() <= 1e-4 * max(1.0, float(np.abs(plain).max())):
        raise Failed("With targets, forward returns different logits than without.")
    return LossPass(idx, targets, logits, loss, is_flat)


def is_close(loss: float, right: float) -> bool:
    return abs(loss - right) <= 1e-4 * max(1.0, abs(right))


def read_logits_and_loss(output: Any) -> tuple[np.ndarray, float]:
    """Return the logits and the loss that forward returned for targets; raise Failed if one is missing."""
    if isinstance(output, dict):
        output = (output.get("logits"), output.get("loss"))
    if outputs.as_number(output) is not None:
        raise Failed(
            "With targets, forward returned 1 number, not 2 values.",
            causes=[mistakes.loss.LOGITS_NOT_RETURNED],
        )
    if not isinstance(output, (tuple, list)) or len(output) < 2 or not isinstance(output[0], np.ndarray):
        raise Failed(
            "With targets, forward didn't return 2 values: the logits and the loss.",
            "Does its last line return both, in that order?",
        )
    loss = outputs.as_number(output[1])
    if loss is None:
        raise Failed("The loss that forward returned is not a finite number.", "F.cross_entropy averages by default.")
    return output[0], loss


def explain_loss(passes: Sequence[LossPass]) -> list[Mistake]:
    """Return the first mistake that gives the loss of all ``passes``, if one does."""
    candidates = [_wrong_losses(found) for found in passes]
    for row in candidates[0]:
        for values in zip(*(losses[row] for losses in candidates), strict=True):
            known = [(found.loss, value) for found, value in zip(passes, values, strict=True) if value is not None]
            if known and all(is_close(loss, value) for loss, value in known):
                return [row]
    first, *others = passes
    if not others:
        return []  # one loss alone fits several constants
    scaled, shifted = first.loss / first.right, first.loss - first.right
    if all(is_close(found.loss, scaled * found.right) for found in others):
        return [mistakes.loss.LOSS_IN_BITS if is_close(scaled, 1 / math.log(2)) else mistakes.loss.LOSS_SCALED]
    if all(is_close(found.loss, found.right + shifted) for found in others):
        return [mistakes.loss.LOSS_SHIFTED]
    uniform = [float(uniform_cross_entropy(found.logits).mean()) for found in passes]
    smoothing = shifted / (uniform[0] - first.right)
    if 0 < smoothing < 1 and all(
        is_close(found.loss, (1 - smoothing) * found.right + smoothing * mean)
        for found, mean in zip(passes, uniform, strict=True)
    ):
        return [mistakes.loss.LOSS_LABEL_SMOOTHING]
    return []


def _wrong_losses(found: LossPass) -> dict[Mistake, list[float | None]]:
    """Return what each mistake's variants give for one pass; None if that is not defined at its size."""
    logits, idx, targets = found.logits, found.idx, found.targets
    (B, T, V), right = logits.shape, found.right
    return {
        mistakes.loss.LOSS_SUMMED: [right * B * T],
        mistakes.loss.LOSS_SUMMED_OVER_TIME: [right * T],
        mistakes.loss.LOSS_SUMMED_OVER_BATCH: [right * B],
        mistakes.loss.LOSS_NEGATED: [-right],
        mistakes.loss.LOSS_EXPONENTIAL: [float(np.exp(right))],
        mistakes.loss.LOSS_OF_INPUTS: [cross_entropy(logits, idx)],
        mistakes.loss.LOSS_OF_LAST_POSITION: [cross_entropy(logits[:, -1:], targets[:, -1:])],
        mistakes.loss.LOGITS_REORDERED: [
            cross_entropy(logits.swapaxes(0, 1).reshape(B, T, V), targets),
            cross_entropy(logits.reshape(B, V, T).swapaxes(1, 2), targets),
        ],
        mistakes.loss.TARGETS_REORDERED: [cross_entropy(logits, targets.T.reshape(B, T))],
        mistakes.loss.LOSS_OF_PROBABILITIES: [cross_entropy(softmax(logits), targets)],
        mistakes.loss.TARGETS_SHIFTED_TWICE: [cross_entropy(logits[:, :-1], targets[:, 1:]) if T > 1 else None],
        mistakes.loss.LOSS_CLASS_AXIS: [cross_entropy(logits.swapaxes(1, 2), targets) if T == V else None],
    }


def explain_class_weights(
    model: ModuleProxy, n: Dims, passes: Sequence[LossPass], rng: np.random.Generator
) -> list[Mistake]:
    """Return the mistake if the loss is wrong for targets of several classes, but right if all are of one class."""
    if all(is_close(found.loss, found.right) for found in passes if found.targets.size > 1):
        return []
    same, (B, T) = [], passes[0].idx.shape
    for token in rng.choice(n.V, 3, replace=False):
        with contextlib.suppress(Failed, StudentError):  # a class without weight gives no finite loss
            same.append(compute_loss(model, n, B, T, rng, np.full((B, T), token)))
    is_right = len(same) > 1 and all(is_close(found.loss, found.right) for found in same)
    return [mistakes.loss.LOSS_WEIGHTS_CLASSES] if is_right else []
