"""Steps that the checks share: weights and inputs drawn by the grader, and the output of a student's head for them."""

from __future__ import annotations

from typing import Any

import numpy as np

from autograder.grading.verdict import Failed
from autograder.sandbox.remote.student_code import StudentCode

SIZES = {"d": 12, "d_head": 5, "T_max": 8}
TOLERANCE = 1e-4  # outputs are about 1, in float32
Weights = dict[str, np.ndarray]


def draw_weights(rng: np.random.Generator) -> Weights:
    """Draw the weights of a head, so small that even unscaled scores don't saturate the softmax."""
    shape = SIZES["d_head"], SIZES["d"]
    return {f"{role}.weight": rng.standard_normal(shape, np.float32) / 3 for role in ("query", "key", "value")}


def draw_input(rng: np.random.Generator, T: int = SIZES["T_max"]) -> np.ndarray:
    """Draw an input (B, T, d)."""
    return rng.standard_normal((3, T, SIZES["d"]), np.float32)


def output(student: StudentCode, weights: Weights, x: np.ndarray) -> np.ndarray:
    """Return the output of a new head with these weights. Raises Failed."""
    head = student.build("Head", SIZES)
    if {p.name: p.shape for p in head.parameters} != {name: value.shape for name, value in weights.items()}:
        raise Failed(f"The parameters of Head should be {', '.join(weights)}.", "Was __init__ changed?")
    head.push(weights)
    return require_tensor(head(x), (*x.shape[:2], SIZES["d_head"]))


def require_tensor(found: Any, shape: tuple[int, ...]) -> np.ndarray:
    """Return ``found`` if it is a finite floating point tensor of that shape. Raises Failed."""
    if not isinstance(found, np.ndarray) or found.shape != shape or found.dtype.kind != "f":
        kind = f"a tensor of shape {found.shape}" if isinstance(found, np.ndarray) else f"a {type(found).__name__}"
        raise Failed(f"forward returned {kind}; it should return a floating point tensor of shape {shape}.")
    if not np.isfinite(found).all():
        raise Failed("The output has entries that are not finite.", "Is a whole row of the attention scores -inf?")
    return found
