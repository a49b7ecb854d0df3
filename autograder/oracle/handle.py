"""The oracle's handle: the same wire as a student's, but its failures are the grader's own."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np

from autograder.sandbox.process import Died, RaisedRemotely, SandboxError, TimedOut, Zygote


@dataclass(frozen=True, slots=True)
class Match:
    """With which mistakes the oracle agrees, under which of ``align``'s readings, for how many heads or blocks.

    ``how`` holds the oracle's steps that these mistakes change.
    """

    mistakes: tuple[str, ...]
    reading: int
    count: int
    how: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Part:
    """How one class keeps its weights, as its own check has found it: tensors, sizes, number of the reading, steps."""

    shapes: tuple[tuple[str, tuple[int, ...]], ...]
    sizes: Mapping[str, int]
    reading: int
    how: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Layout:
    """Which of GPT's tensors is which, at one size.

    ``parts`` are "attention", "mlp", "block" and, if GPT's own tensors are known, "model". ``local`` has the names of a
    part's tensors in its class, ``blocks`` their names in GPT, block by block in the order of application; ``own`` are
    the tensors of GPT itself.
    """

    sizes: Mapping[str, int]
    parts: Mapping[str, Part]
    local: Mapping[str, tuple[str, ...]]
    blocks: tuple[Mapping[str, tuple[str, ...]], ...]
    own: tuple[str, ...]

    @property
    def names(self) -> set[str]:
        """All tensors that it assigns."""
        return {*self.own, *(name for block in self.blocks for part in block.values() for name in part)}


@dataclass(frozen=True, slots=True)
class Comparison:
    """All cheapest explanations of what a class computes: one without mistakes where it is right, or none at all.

    ``gap`` is how far the outputs are from the right ones, relative to the largest, under the reading of the tensors
    where they are nearest (None where they cannot be compared); ``position`` the first that is off; ``alone`` whether
    sequences of one token come out right.
    """

    matches: tuple[Match, ...]
    gap: float | None = None
    position: int = -1
    alone: bool = False


CPU = 60.0  # s: a guard against the grader's own mistakes


class Oracle:
    """Asks a student-free fork of the zygote what the right model computes; forked at a zygote's first question."""

    def __init__(self, zygote: Zygote) -> None:
        self._zygote = zygote
        self.cpu = 0.0  # s, spent on the questions of this handle

    def logits(self, layout: Layout, weights: Mapping[str, np.ndarray], idx: np.ndarray) -> np.ndarray:
        """(B, T) int64 -> (B, T, V): what the student's GPT computes if it is the composition of its classes.

        ``weights`` are the student's, by name, and decide the precision; the mistakes in ``layout`` are composed too.
        """
        answer: np.ndarray = self._ask("logits", {"layout": asdict(layout), "weights": dict(weights), "idx": idx})
        return answer

    def carries_over(self, layout: Layout, shapes: Mapping[str, tuple[int, ...]]) -> bool:
        """Whether the layout of each class, found at other sizes, has a counterpart for tensors of these ``shapes``."""
        return bool(self._ask("carries_over", {"layout": asdict(layout), "shapes": dict(shapes)}))

    def block_order(
        self, layout: Layout, weights: Mapping[str, np.ndarray], idx: np.ndarray, logits: np.ndarray, tolerance: float
    ) -> tuple[int, ...]:
        """The order of the blocks under which ``logits`` gives these ``logits``; empty if there is none."""
        arguments = {"layout": asdict(layout), "weights": dict(weights), "idx": idx, "logits": logits}
        return tuple(self._ask("block_order", arguments | {"tolerance": tolerance}))

    def attention(self, weights: Mapping[str, np.ndarray], x: np.ndarray) -> np.ndarray:
        """(B, T, d) -> (B, T, d), for the weights q, k, v, o and o.bias of one block."""
        answer: np.ndarray = self._ask("attention", {"weights": dict(weights), "x": x})
        return answer

    def identify(
        self,
        component: str,
        tensors: Mapping[str, np.ndarray],
        cases: Sequence[tuple[np.ndarray, np.ndarray]],
        sizes: Mapping[str, int],
        probes: Mapping[str, np.ndarray],
        tolerance: float,
        expected: Collection[str] = (),
        readings: int | None = None,
        blocks: tuple[Layout, Mapping[str, np.ndarray]] | None = None,
    ) -> Comparison:
        """With which known mistakes the oracle's ``component`` computes ``cases``, inputs and outputs of a class.

        ``tensors`` are the student's, in the order in which the class lists them; ``tolerance`` is relative to the
        largest entry. Mistakes that are ``expected`` are tried by themselves first. ``readings`` of an attention's
        tensors are tried, or all; the first ones go by names. A "model" has real ``blocks``, given by their layout and
        GPT's weights, or else a linear map in place of each.
        """
        answer = self._ask(
            "identify",
            {
                "component": component,
                "tensors": list(tensors.items()),
                "cases": list(cases),
                "sizes": dict(sizes),
                "probes": dict(probes),
                "tolerance": tolerance,
                "expected": list(expected),
                "readings": readings,
                "blocks": (asdict(blocks[0]), dict(blocks[1])) if blocks else None,
            },
        )
        matches = tuple(Match(tuple(m["mistakes"]), m["reading"], m["count"], m["how"]) for m in answer["matches"])
        return Comparison(matches, *(answer["nearest"] or ()))

    def gradients(
        self,
        tensors: Mapping[str, np.ndarray],
        reading: int,
        sizes: Mapping[str, int],
        probe: np.ndarray,
        idx: np.ndarray,
        targets: np.ndarray,
    ) -> dict[str, np.ndarray]:
        """Gradients of the loss for GPT's own ``tensors``, with x @ ``probe`` in place of each block."""
        arguments = {"tensors": list(tensors.items()), "reading": reading, "sizes": dict(sizes)}
        return dict(self._ask("gradients", arguments | {"probe": probe, "idx": idx, "targets": targets}))

    def _ask(self, operation: str, arguments: dict[str, Any]) -> Any:
        process = self._zygote.oracle()
        before = process.cpu
        try:
            return process.call([(operation, arguments)], CPU, 10 * CPU)
        except KeyboardInterrupt:
            process.close()  # or its answer would come to the next question
            raise
        except (Died, TimedOut, RaisedRemotely) as error:
            raise SandboxError(f"the oracle failed at {operation}: {error}") from error
        finally:
            self.cpu += process.cpu - before
