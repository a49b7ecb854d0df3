"""Assign vectors to the gains and biases of LayerNorms."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence

import numpy as np

from autograder.assignment import mistakes
from autograder.assignment.mistakes import Mistake
from autograder.assignment.oracle.layouts.entries import ONE, ZERO, Layout, Source, Stacks


def norm_layouts(stacks: Stacks, d: int, names: Sequence[str]) -> Iterator[tuple[Layout, Mistake | None]]:
    """Yield layouts of vectors as gains and biases of the norms ``names``, each with the mistake that it implies."""
    small = {name: stack.size for name, stack in stacks.items() if stack[0].size <= 4 * d}
    if sum(small.values()) % d:
        small = {name: size for name, size in small.items() if size % d == 0}
    # One tensor may hold gain and bias, or several tensors one of them.
    count = sum(small.values()) // d
    one, zero = Source(part=ONE), Source(part=ZERO)
    slots = [f"{name}.{part}" for name in names for part in ("gain", "bias")]
    if count > len(slots):
        return
    starts = np.concatenate([np.zeros(0, int), *(stacks[name].reshape(-1) for name in small)])[::d]
    vectors = [Source((*small,), "rd", int(part), count) for part in np.argsort(starts)]  # as the class lists them
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
