"""Steps that the checks of several criteria share: from what a model returned to numbers that can be compared."""

from __future__ import annotations

from typing import Any

import numpy as np

from autograder.outcome import Failed
from autograder.sandbox.student import Module
from autograder.sandbox.wire import Opaque


def logits(output: Any, shape: tuple[int, ...]) -> np.ndarray:
    """The logits in ``output``: present, a tensor, of ``shape``, floating point, finite; raises Failed at the first no.

    Accepts the tensor itself, (logits, loss) with or without a loss, and a dict with the key "logits".
    """
    if isinstance(output, dict):
        output = output.get("logits")
    if isinstance(output, (tuple, list)) and output:
        output = output[0]
    if not isinstance(output, np.ndarray):
        kind = output.type if isinstance(output, Opaque) else type(output).__name__
        found = "nothing" if output is None else f"a value of type {kind}"
        raise Failed(f"forward returned {found}, not a tensor of logits.", "Is there a return at the end of forward?")
    if output.shape != shape:
        raise Failed(f"The logits have the shape {output.shape}, not (B, T, V) = {shape}.")
    if output.dtype.kind != "f":
        raise Failed("The logits are whole numbers; they should be floating point.", "Did forward return tokens?")
    bad = ~np.isfinite(output)
    if bad.any():
        first = tuple(int(i) for i in np.argwhere(bad)[0])
        raise Failed(
            f"{int(bad.sum()):,} of {output.size:,} logits are not finite; first at row, position, token {first}.",
            "Is there a position whose scores are all -inf, so that its softmax is 0/0?",
        )
    return output


def random_weights(model: Module, rng: np.random.Generator) -> dict[str, np.ndarray]:
    """New values for every trainable parameter, large enough that attention is far from uniform.

    Matrices get entries of standard deviation 1.5 / sqrt(last size). Vectors are biases or gains, which nothing tells
    apart here: they get entries of either sign and of size 0.5 to 1.5, since a gain near 0 would hide what it scales.
    """
    weights = {}
    for parameter in model.parameters:
        if not parameter.grad:
            continue
        if len(parameter.shape) < 2:
            values = rng.uniform(0.5, 1.5, parameter.shape) * rng.choice([-1.0, 1.0], parameter.shape)
        else:
            values = rng.standard_normal(parameter.shape, np.float32) * (1.5 / np.sqrt(parameter.shape[-1]))
        weights[parameter.name] = np.asarray(values, np.float32)
    return weights
