"""Turn a model's outputs into numbers that can be compared, for several criteria."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from autograder.assignment import mistakes
from autograder.assignment.oracle.layouts import MAX_ENTRIES
from autograder.grading.report import NOT_FINITE
from autograder.grading.verdict import Failed
from autograder.sandbox.remote.errors import StudentError
from autograder.sandbox.remote.proxy import ModuleProxy
from autograder.sandbox.remote.replies import MAX_NUMBER, parse_real
from autograder.sandbox.remote.wire import Opaque

LARGEST_WEIGHT = 1e6  # an initial weight beyond this is uninitialised memory
MOVES = 1e-6  # least change of an output when the weights change
TENSORS = 1024  # ten times those of the course's model with a tensor for each head
T_MAX = 17  # of the classes when they are tested alone
# B and T are drawn from these: none equals d, H, d_head or T_max there, or three, the number of roles.
BATCHES, LENGTHS = (2, 6, 7, 9), (10, *range(12, T_MAX))


def draw_shapes(rng: np.random.Generator) -> list[tuple[int, int]]:
    """Draw two pairs (B, T), all sizes distinct and the longest first, so that code can't be tailored to them."""
    lengths = sorted(rng.choice(LENGTHS, 2, replace=False), reverse=True)
    return [(int(B), int(T)) for B, T in zip(rng.choice(BATCHES, 2, replace=False), lengths, strict=True)]


def require_tensor(output: Any, shape: tuple[int, ...]) -> np.ndarray:
    """Return ``output`` if it is a finite floating point tensor of ``shape``; raise Failed otherwise."""
    if not isinstance(output, np.ndarray):
        kind = output.type if isinstance(output, Opaque) else type(output).__name__
        found = "None" if output is None else f"a value of type {kind}"
        raise Failed(
            f"forward returned {found}; it should return a tensor of shape {shape}.",
            "" if output is None else "Check the return statement of forward.",
            [mistakes.exceptions.RESULT_IS_NONE] if output is None else [],
        )
    if output.shape != shape:
        raise Failed(f"The output has shape {output.shape}; it should be {shape}.")
    if output.dtype.kind != "f":
        raise Failed("The output has an integer dtype; it should be floating point.")
    bad = ~np.isfinite(output)
    if bad.any():
        first = tuple(int(i) for i in np.argwhere(bad)[0])
        raise Failed(
            f"{int(bad.sum()):,} of {output.size:,} entries of the output are not finite; the first is at {first}.",
            "Which step gives them: a softmax of scores that are all -inf, 0 times -inf, or a division by 0?",
            symptom=NOT_FINITE,
        )
    return output


def require_logits(output: Any, shape: tuple[int, ...]) -> np.ndarray:
    """Return the logits in ``output`` if they are a finite tensor of ``shape``; raise Failed otherwise.

    Accept the tensor itself, (logits, loss) with or without a loss, and a dict with the key "logits".
    """
    found = _find_logits(output)
    B, T, V = shape
    if isinstance(found, np.ndarray) and T > 1 and found.shape == (B, 1, V):
        raise Failed(
            f"For {T} tokens, the logits have shape {found.shape}; it should be {shape}.",
            causes=[mistakes.loss.LOGITS_OF_LAST_POSITION],
        )
    return require_tensor(found, shape)


def _find_logits(output: Any) -> Any:
    if isinstance(output, dict):
        output = output.get("logits")
    return output[0] if isinstance(output, (tuple, list)) and output else output


def as_number(value: Any) -> float | None:
    """Read a number, or an array with one element, that is finite and at most LARGEST in size; else None."""
    try:
        found = parse_real(value.item() if isinstance(value, np.ndarray) and value.size == 1 else value)
    except (OverflowError, TypeError):
        return None
    return found if abs(found) <= MAX_NUMBER else None


def random_weights(model: ModuleProxy, rng: np.random.Generator) -> dict[str, np.ndarray]:
    """Return new values for every trainable parameter, large enough that attention is far from uniform.

    Vectors are biases or gains, indistinguishable here: they get entries of either sign and of size 0.5 to 1.5, since a
    gain near 0 would hide the values it scales.
    """
    require_affordable(model)
    vectors = {
        p.name: np.asarray(rng.uniform(0.5, 1.5, p.shape) * rng.choice([-1.0, 1.0], p.shape), np.float32)
        for p in model.parameters
        if p.grad and not p.is_matrix
    }
    return vectors | random_matrices(model, rng, 1.5)


def require_affordable(module: ModuleProxy) -> None:
    """Raise Failed if a module has far too many parameters to send values for."""
    if module.numel > MAX_ENTRIES or len(module.parameters) > TENSORS:
        raise Failed(
            f"The {module.name} has {module.numel:,} parameters in {len(module.parameters):,} tensors, too many to "
            f"check.",
            "Which size is wrong?",
        )


def random_matrices(
    model: ModuleProxy, rng: np.random.Generator, size: float, frozen: bool = False
) -> dict[str, np.ndarray]:
    """Return new trainable matrices (or all, with ``frozen``) of standard deviation ``size`` / sqrt(last dimension).

    With gains of 1 and biases of 0, the logits then have a standard deviation of about ``size``. The values are
    uniform, which is faster than normal and just as good.
    """
    require_affordable(model)
    kept = mask_parameters(model)
    return {
        p.name: (rng.random(p.shape, np.float32) - np.float32(0.5)) * np.float32(size * np.sqrt(12 / p.fan_in))
        for p in model.parameters
        if (p.grad or frozen) and p.is_matrix and p.name not in kept
    }


def mask_parameters(module: ModuleProxy) -> set[str]:
    """Return the names of parameters that hold no weights: triangular masks of two values, integers, complex numbers.

    The parameter count deducts them once; if their values changed, everything else would be wrong too.
    """
    claimed = {p.name for p in module.parameters if p.mask}
    if not claimed:
        return set()
    try:
        values = module.pull()
    except StudentError:
        return set()  # callers that need the values report the error
    # Complex values are not pulled.
    return {
        name for name in claimed if name not in values or values[name].dtype.kind != "f" or _is_triangle(values[name])
    }


def _is_triangle(value: np.ndarray) -> bool:
    n = value.shape[-1] if value.ndim else 0
    if n < 2 or value.size != n * n or len(np.unique(value)) != 2:
        return False
    is_first = value.reshape(n, n) == value.flat[0]
    return any(np.array_equal(is_first, triangle) for triangle in (np.tri(n), np.tri(n).T))


def find_unusable(weights: Mapping[str, np.ndarray]) -> str:
    """Return the name of a tensor with unusable values, as ``torch.empty`` may leave them; "" if there is none."""
    return next((name for name, value in weights.items() if not (np.abs(value) <= LARGEST_WEIGHT).all()), "")


@contextlib.contextmanager
def blaming_initial_weights(module: ModuleProxy, weights: Mapping[str, np.ndarray] | None = None) -> Iterator[None]:
    """Raise Failed if the initial ``weights``, or the module's own, are unusable."""
    try:
        yield
    except Failed:
        name = find_unusable(module.pull() if weights is None else weights)
        if not name:
            raise
        raise Failed(
            f"Before training, {name} has entries that are not finite or larger than {LARGEST_WEIGHT:g}.",
            causes=[mistakes.initial_loss.WEIGHTS_UNINITIALISED],
        ) from None


def output_under_weights(module: ModuleProxy, weights: Mapping[str, np.ndarray], x: np.ndarray) -> np.ndarray:
    """Set ``weights`` and return the output for ``x``; raise Failed if the output stays the same.

    Otherwise a class that returns its input would pass checks of invariance.
    """
    if find_unusable(module.pull()):
        module.push({name: value / 2 for name, value in weights.items()})
    before = require_tensor(module(x), x.shape)
    module.push(weights)
    after = require_tensor(module(x), x.shape)
    if not np.abs(after - before).max() > MOVES:
        raise Failed(
            f"Replacing the weights left the output of {module.name} unchanged.",
            "Does forward use the parts that __init__ creates?",
        )
    return after
