"""Assign vectors to the gains and biases of LayerNorms."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence

import numpy as np

from autograder.assignment import mistakes
from autograder.assignment.mistakes import Mistake
from autograder.assignment.oracle.layouts.entries import ONE, ZERO, Layout, Tensors


def norm_layouts(tensors: Tensors, d: int, names: Sequence[str]) -> Iterator[tuple[Layout, Mistake | None]]:
    """Yield layouts of vectors as gains and biases of the norms ``names``, each with the mistake that it implies."""
    small = [value.reshape(-1) for _, value in tensors if value.size <= 4 * d]
    if sum(map(len, small)) % d:
        small = [value for value in small if len(value) % d == 0]
    # One tensor may hold gain and bias, or several tensors one of them.
    vectors = list(np.concatenate(small).reshape(-1, d)) if small else []
    one, zero = np.full(d, ONE), np.full(d, ZERO)
    slots = [f"{name}.{part}" for name in names for part in ("gain", "bias")]
    if len(vectors) == len(slots):
        for order in itertools.permutations(vectors):
            yield dict(zip(slots, order, strict=True)), None
    elif len(vectors) == len(names):
        for order in itertools.permutations(vectors):
            gains = {f"{name}.gain": v for name, v in zip(names, order, strict=True)}
            yield gains | {f"{name}.bias": zero for name in names}, mistakes.norm.NORM_BIAS_MISSING
            biases = {f"{name}.bias": v for name, v in zip(names, order, strict=True)}
            yield biases | {f"{name}.gain": one for name in names}, mistakes.norm.NORM_GAIN_MISSING
        if len(names) == 2:
            for gain, bias in itertools.permutations(vectors):
                yield {slot: (gain if slot.endswith("gain") else bias) for slot in slots}, mistakes.norm.NORM_SHARED
    elif not vectors:
        yield {slot: (one if slot.endswith("gain") else zero) for slot in slots}, mistakes.norm.NORM_WITHOUT_AFFINE
