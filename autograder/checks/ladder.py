"""Steps that the checks of several criteria share: from what a model returned to numbers that can be compared."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping
from typing import Any

import numpy as np

from autograder.oracle import mistakes
from autograder.outcome import Failed
from autograder.sandbox.answers import LARGEST, real
from autograder.sandbox.errors import StudentError
from autograder.sandbox.module import Module
from autograder.sandbox.wire import Opaque

MOVES = 1e-6  # what other weights move an output by, at least
MOST = 6_000_000  # parameters, seven times those of the course's model
TENSORS = 1024  # ten times those of the course's model with a tensor for each head
T_MAX = 17  # of the classes by themselves
# B and T are drawn from these: unlike d, H, d_head and T_max there, and three, the number of roles.
BATCHES, LENGTHS = (2, 6, 7, 9), tuple(range(10, T_MAX))


def draw_shapes(rng: np.random.Generator) -> list[tuple[int, int]]:
    """Draw two pairs (B, T), no two sizes alike and the longest first, so that code cannot be made for them."""
    lengths = sorted(rng.choice(LENGTHS, 2, replace=False), reverse=True)
    return [(int(B), int(T)) for B, T in zip(rng.choice(BATCHES, 2, replace=False), lengths, strict=True)]


def tensor(output: Any, shape: tuple[int, ...]) -> np.ndarray:
    """``output`` as it should be: a tensor, of ``shape``, floating point, finite; raises Failed at the first no."""
    if not isinstance(output, np.ndarray):
        kind = output.type if isinstance(output, Opaque) else type(output).__name__
        found = "nothing" if output is None else f"a value of type {kind}"
        raise Failed(
            f"forward returned {found}; it should be a tensor of shape {shape}.",
            "" if output is None else "What stands behind its return?",
            [mistakes.named("result_is_none")] if output is None else [],
        )
    if output.shape != shape:
        raise Failed(f"The output has the shape {output.shape}; it should be {shape}.")
    if output.dtype.kind != "f":
        raise Failed("The output holds whole numbers; it should be floating point.")
    bad = ~np.isfinite(output)
    if bad.any():
        first = tuple(int(i) for i in np.argwhere(bad)[0])
        raise Failed(
            f"{int(bad.sum()):,} of {output.size:,} entries of the output are not finite; the first is at {first}.",
            "Is there a position whose scores are all -inf, so that its softmax is 0/0, or a 0 times -inf?",
        )
    return output


def logits(output: Any, shape: tuple[int, ...]) -> np.ndarray:
    """The logits in ``output``, as ``tensor`` wants them.

    Accepts the tensor itself, (logits, loss) with or without a loss, and a dict with the key "logits".
    """
    found = _first(output)
    B, T, V = shape
    if isinstance(found, np.ndarray) and T > 1 and found.shape == (B, 1, V):
        raise Failed(
            f"For {T} tokens the logits have the shape {found.shape}; it should be {shape}.",
            causes=[mistakes.named("logits_of_last_position")],
        )
    return tensor(found, shape)


def _first(output: Any) -> Any:
    if isinstance(output, dict):
        output = output.get("logits")
    return output[0] if isinstance(output, (tuple, list)) and output else output


def number(value: Any) -> float | None:
    """Read a number to calculate with, also as an array of one element: finite, and at most LARGEST; else None."""
    try:
        found = real(value.item() if isinstance(value, np.ndarray) and value.size == 1 else value)
    except (OverflowError, TypeError):
        return None
    return found if abs(found) <= LARGEST else None


def random_weights(model: Module, rng: np.random.Generator) -> dict[str, np.ndarray]:
    """New values for every trainable parameter, large enough that attention is far from uniform.

    Vectors are biases or gains, which nothing tells apart here: they get entries of either sign and of size 0.5 to
    1.5, since a gain near 0 would hide what it scales.
    """
    affordable(model)
    vectors = {
        p.name: np.asarray(rng.uniform(0.5, 1.5, p.shape) * rng.choice([-1.0, 1.0], p.shape), np.float32)
        for p in model.parameters
        if p.grad and not p.is_matrix
    }
    return vectors | random_matrices(model, rng, 1.5)


def affordable(module: Module) -> None:
    """Raise Failed where a module has far too many parameters to send values for them."""
    if module.numel > MOST or len(module.parameters) > TENSORS:
        raise Failed(
            f"The {module.name} has {module.numel:,} parameters in {len(module.parameters):,} tensors, too many to be "
            f"looked at.",
            "Which size is wrong?",
        )


def random_matrices(
    model: Module, rng: np.random.Generator, size: float, frozen: bool = False
) -> dict[str, np.ndarray]:
    """Draw every trainable matrix, or with ``frozen`` every one, with a deviation of ``size`` / sqrt(last dimension).

    With gains of 1 and biases of 0, the logits then have a standard deviation of about ``size``. The values are
    uniform, which is quicker than normal and just as good.
    """
    affordable(model)
    kept = masks(model)
    return {
        p.name: (rng.random(p.shape, np.float32) - np.float32(0.5)) * np.float32(size * np.sqrt(12 / p.shape[-1]))
        for p in model.parameters
        if (p.grad or frozen) and p.is_matrix and p.name not in kept
    }


def masks(module: Module) -> set[str]:
    """The names of parameters that are triangles of one value, with another in the rest: no weights, but masks.

    They are counted, and that costs once; with other values in them all else would be wrong too.
    """
    claimed = {p.name for p in module.parameters if p.mask}
    values: dict[str, np.ndarray] = {}
    if claimed:
        with contextlib.suppress(StudentError):  # then they are no masks, and whoever needs the values says the rest
            values = module.pull()
    return {name for name in claimed & values.keys() if _is_triangle(values[name])}


def _is_triangle(value: np.ndarray) -> bool:
    n = value.shape[-1] if value.ndim else 0
    if n < 2 or value.size != n * n or len(np.unique(value)) != 2:
        return False
    alike = value.reshape(n, n) == value.flat[0]
    return any(np.array_equal(alike, triangle) for triangle in (np.tri(n), np.tri(n).T))


def under(module: Module, weights: Mapping[str, np.ndarray], x: np.ndarray) -> np.ndarray:
    """The output for ``x`` once ``weights`` are set; raises Failed where it is what it was before.

    What holds for a class that hands on its input holds for nothing that it computes.
    """
    before = tensor(module(x), x.shape)
    module.push(weights)
    after = tensor(module(x), x.shape)
    if not np.abs(after - before).max() > MOVES:
        raise Failed(
            f"With other weights, the output of {module.name} stayed the same.",
            "Does forward use the parts that __init__ makes?",
        )
    return after
