"""Inside the oracle's process: what the right model, or a wrong one, computes for given weights."""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np
import torch
from torch import Tensor

from autograder.oracle import align, gpt, mistakes
from autograder.sandbox import confine, wire, worker

MOST = 20_000  # comparisons for one question, about a fifth of a millisecond each
Case = tuple[Tensor, Tensor]  # an input, and what the student's class made of it


class Operations:
    """What the oracle can be asked; arrays in float64 give answers in float64."""

    def do_logits(self, weights: dict[str, np.ndarray], idx: np.ndarray) -> Tensor:
        with torch.no_grad():
            return gpt.gpt(torch.from_numpy(idx), _tensors(weights))

    def do_attention(self, weights: dict[str, np.ndarray], x: np.ndarray) -> Tensor:
        with torch.no_grad():
            return gpt.attention(torch.from_numpy(x), _tensors(weights, "attn."), "attn")

    def do_identify(
        self,
        component: str,
        tensors: list[tuple[str, np.ndarray]],
        cases: list[tuple[np.ndarray, np.ndarray]],
        sizes: dict[str, int],
        probes: dict[str, np.ndarray],
        tolerance: float,
    ) -> dict[str, Any]:
        """With which known mistakes the oracle computes ``cases`` (inputs and outputs of the student's class).

        ``mistakes`` is empty where the right model does, None where no known one does. ``reading`` is the number of the
        reading of ``tensors`` among those that ``align`` yields, for ``heads`` heads.
        """
        question = Question(
            shapes=[(name, value.shape) for name, value in tensors],
            flat=_flat([value for _, value in tensors]),
            cases=[(torch.from_numpy(x), torch.from_numpy(y)) for x, y in cases],
            sizes=sizes,
            probes={name: torch.from_numpy(matrix) for name, matrix in probes.items()},
            tolerance=tolerance,
        )
        found = None
        with torch.no_grad(), contextlib.suppress(Exhausted):
            found = _COMPONENTS[component](question)
        if found is None:
            return {"mistakes": None}
        return {"mistakes": [name for name in found.mistakes if name], "reading": found.reading, "heads": found.heads}

    def do_gradients(
        self,
        tensors: list[tuple[str, np.ndarray]],
        reading: int,
        sizes: dict[str, int],
        probe: np.ndarray,
        idx: np.ndarray,
        targets: np.ndarray,
    ) -> dict[str, np.ndarray]:
        """Gradients of the loss for GPT's own tensors, with a linear map in place of each block."""
        flat = _flat([value for _, value in tensors]).requires_grad_()
        shapes = [(name, value.shape) for name, value in tensors]
        where, _ = next(itertools.islice(align.model(shapes, sizes["V"], sizes["T_max"], sizes["d"]), reading, None))
        blocks: list[gpt.Part] = [lambda x: x @ torch.from_numpy(probe)] * sizes["L"]
        logits = gpt.stacked(torch.from_numpy(idx), _weights(flat, where), blocks)
        chosen = logits.log_softmax(-1).gather(-1, torch.from_numpy(targets)[..., None])
        (-chosen.mean()).backward()  # type: ignore[no-untyped-call]
        gradient = flat.grad
        assert gradient is not None
        return {name: gradient.numpy()[place] for name, place in align.positions(shapes)}


class Exhausted(Exception):
    """Enough has been tried. Counted, not timed, so that a slow machine comes to the same verdict."""


@dataclass(frozen=True)
class Question:
    """What the student's class has (tensors, end to end, then a 0 and a 1) and computes."""

    shapes: align.Shapes
    flat: Tensor
    cases: list[Case]
    sizes: dict[str, int]
    probes: dict[str, Tensor]
    tolerance: float
    tried: list[int] = field(default_factory=lambda: [0])

    def fits(self, function: Callable[[Tensor], Tensor], cases: list[Case] | None = None) -> bool:
        """Whether ``function`` gives the student's outputs, each entry to the tolerance times the largest."""
        self.tried[0] += 1
        if self.tried[0] > MOST:
            raise Exhausted
        for x, y in self.cases if cases is None else cases:
            try:
                own = function(x)
            except (RuntimeError, IndexError):
                return False
            largest = max(1.0, float(y.abs().max()))
            if own.shape != y.shape or not float((own - y).abs().max()) <= self.tolerance * largest:
                return False
        return True


@dataclass(frozen=True)
class Found:
    """A match: the mistakes (empty names are none) and the number of the reading."""

    mistakes: list[str]
    reading: int
    heads: int = 0


def _attention(q: Question) -> Found | None:
    """First by T=1, where only values and projection matter, then by the whole; other numbers of heads come last."""
    d, H = q.sizes["d"], q.sizes["H"]
    single = [case for case in q.cases if case[0].shape[1] == 1]
    early = [
        {},
        *(
            {m.step: m.way}
            for m in mistakes.of("attention")
            if m.step in ("value", "project", "merge", "softmax", "add")
        ),
    ]
    for number, reading in enumerate(_sound(align.attention(q.shapes, d, H))):
        right = partial(gpt.attention, w=_weights(q.flat, reading, "a."), at="a")
        if q.fits(right, single) and q.fits(right):  # first of all: most have made no mistake
            return Found(_implied(reading, H), number, H)
    for heads in [H, *(h for h in range(1, d + 1) if d % h == 0 and h != H)]:
        readings = []
        for number, reading in enumerate(_sound(align.attention(q.shapes, d, heads))):
            w = _weights(q.flat, reading, "a.")
            if any(q.fits(partial(gpt.attention, w=w, at="a", how=how), single) for how in early):
                readings.append((number, reading, w))
        for how, names in _ways(2 if heads == H else 1, "attention"):
            for number, reading, w in readings:
                if q.fits(partial(gpt.attention, w=w, at="a", how=how)):
                    wrong = [] if heads == H else ["heads_wrong_number"]
                    return Found([*wrong, *_implied(reading, heads), *names], number, heads)
    return None


def _implied(reading: align.Reading, H: int) -> list[str]:
    """Mistakes that the tensors alone show."""
    found = []
    if "q.bias" in reading:
        found.append("qkv_biases")
    if "o.bias" not in reading:
        found.append("attention_proj_bias_missing")
    shared = [H > 1 and np.array_equal(reading[role][0], reading[role][1]) for role in align.ROLES]
    if any(shared):
        found.append("heads_shared" if all(shared) else "heads_share_keys_values")
    if reading["q"].shape[2] * H != reading["q"].shape[1]:
        found.append("heads_full_size")
    return found


def _mlp(q: Question) -> Found | None:
    d = q.sizes["d"]
    for how, names in _ways(1, "mlp"):
        for number, reading in enumerate(_sound(align.mlp(q.shapes, d))):
            w = _weights(q.flat, reading, "m.")
            if q.fits(partial(gpt.mlp, w=w, at="m", how=how)):
                implied = ["mlp_width"] if reading["up"].shape[1] != 4 * d else []
                missing = [side for side in ("up", "down") if f"{side}.bias" not in reading]
                implied += ["mlp_biases_missing"] if len(missing) == 2 else [f"mlp_{m}_bias_missing" for m in missing]
                return Found([*implied, *names], number)
    return None


def _block(q: Question) -> Found | None:
    """The composition around known linear maps in place of attention and MLP."""
    attend, think = (lambda x: x @ q.probes["attention"]), (lambda x: x @ q.probes["mlp"])
    tensors = align.positions(q.shapes)
    for how, names in _ways(2, "block", "norm"):
        for number, (reading, implied) in enumerate(align.norms(tensors, q.sizes["d"], ["ln1", "ln2"])):
            w = _weights(q.flat, reading, "b.")
            if q.fits(partial(gpt.composed, w=w, at="b", attend=attend, think=think, how=how)):
                return Found(_norms(implied, names), number)
    return None


def _norms(implied: str, names: list[str]) -> list[str]:
    """Mistakes of the norms, from tensors and from values; the two that make an RMSNorm are one."""
    if implied == "norm_bias_missing" and "norm_not_centred" in names:
        return ["norm_rms", *(name for name in names if name != "norm_not_centred")]
    return [implied, *names]


def _model(q: Question) -> Found | None:
    """The composition around a known linear map in place of each block; other numbers of blocks come last."""
    L = q.sizes["L"]
    for count in (L, *(n for n in range(9) if n != L)):
        blocks: list[gpt.Part] = [lambda x: x @ q.probes["block"]] * count
        for how, names in _ways(2 if count == L else 0, "model", "norm"):
            readings = align.model(q.shapes, q.sizes["V"], q.sizes["T_max"], q.sizes["d"])
            for number, (reading, implied) in enumerate(readings):
                w = _weights(q.flat, reading)
                if not q.fits(partial(gpt.stacked, w=w, blocks=blocks, how=how)):
                    continue
                found = [implied if how.get("final norm") != "none" or implied != "norm_without_affine" else ""]
                found += ["positions_missing"] if (reading["pos"] == align.ZERO).all() else []
                found += ["head_bias"] if "head.bias" in reading else []
                found += ["blocks_wrong_number"] if count != L else []
                return Found([*found[1:], *_norms(found[0], names)], number)
    return None


_COMPONENTS: dict[str, Callable[[Question], Found | None]] = {
    "attention": _attention,
    "mlp": _mlp,
    "block": _block,
    "model": _model,
}


def _ways(most: int, *components: str) -> Iterator[tuple[dict[str, str], list[str]]]:
    """The right way and what is accepted, then each mistake alone, then pairs in different steps; up to ``most``."""
    rows = [row for row in mistakes.of(*components) if row.step]
    yield {}, []
    for row in sorted(rows, key=lambda row: not row.accepted):
        if most or row.accepted:
            yield {row.step: row.way}, [row.name]
    for first, second in itertools.combinations(rows, 2) if most > 1 else ():
        if first.step != second.step:
            yield {first.step: first.way, second.step: second.way}, [first.name, second.name]


def _sound(readings: Iterator[align.Reading]) -> Iterator[align.Reading]:
    """The readings up to one whose shapes do not go together: a layout that nobody has thought of is no error."""
    try:
        yield from readings
    except ValueError:
        return


def _flat(tensors: list[np.ndarray]) -> Tensor:
    """All entries end to end, then a 0 and a 1, as ``align`` counts them."""
    dtype = tensors[0].dtype if tensors else np.float64
    return torch.from_numpy(np.concatenate([*(t.reshape(-1) for t in tensors), np.array([0, 1], dtype)]))


def _weights(flat: Tensor, reading: align.Reading, prefix: str = "") -> dict[str, Tensor]:
    return {f"{prefix}{name}": flat[torch.from_numpy(np.ascontiguousarray(at))] for name, at in reading.items()}


def _tensors(weights: Mapping[str, np.ndarray], prefix: str = "") -> dict[str, Tensor]:
    return {f"{prefix}{name}": torch.from_numpy(np.ascontiguousarray(value)) for name, value in weights.items()}


def main(channel: int) -> None:
    """Serve questions on ``channel``. No student code is here, so nothing is confined; none can look in either."""
    confine.close_all_but(channel)
    wire.write(channel, wire.encode({"held": []}))
    worker.serve(channel, Operations())
