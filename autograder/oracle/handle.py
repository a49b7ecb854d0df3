"""The oracle's handle: the same wire as a student's, but its failures are the grader's own."""

from __future__ import annotations

import itertools
from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np

from autograder.sandbox.process import Died, Operation, Process, RaisedRemotely, SandboxError, TimedOut, Zygote
from autograder.sandbox.wire import WireError


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


# Seconds of computing, several times what honest submissions need.
QUESTION_CPU = 8.0  # one question
SUBMISSION_CPU = 10.0  # all questions of one submission; then each gets only what a right class needs many times over
SHORT_CPU = 0.5
KEPT = 4  # composed models that the oracle's process keeps
_numbers = itertools.count(1)  # of composed models, which outlive a handle in the oracle's process


class TooLarge(SandboxError):
    """A question that cannot be sent, or takes too long to answer."""


class Oracle:
    """Asks a student-free fork of the zygote what the right model computes; forked at a zygote's first question."""

    def __init__(self, zygote: Zygote) -> None:
        self._zygote = zygote
        self._process: Process | None = None
        self._held: list[Composed] = []  # in that process
        self.cpu = 0.0  # s, spent on the questions of this handle

    def compose(self, layout: Layout, weights: Mapping[str, np.ndarray]) -> Composed | None:
        """The student's GPT, if it is the composition of its classes with the mistakes in ``layout``.

        ``weights`` are the student's, by name, and decide the precision. None if the layout of a class, found at other
        sizes, has no counterpart at these.
        """
        composed = Composed(self, layout, weights)
        return composed if composed.exists() else None

    def attention(self, weights: Mapping[str, np.ndarray], x: np.ndarray) -> np.ndarray:
        """(B, T, d) -> (B, T, d), for the weights q, k, v, o and o.bias of one block."""
        answer: np.ndarray = self.ask("attention", {"weights": dict(weights), "x": x})
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
        blocks: Composed | None = None,
    ) -> Comparison:
        """With which known mistakes the oracle's ``component`` computes ``cases``, inputs and outputs of a class.

        ``tensors`` are the student's, in the order in which the class lists them; ``tolerance`` is relative to the
        largest entry. Mistakes that are ``expected`` are tried by themselves first. ``readings`` of an attention's
        tensors are tried, or all; the first ones go by names. A "model" has the ``blocks`` of a composed one, or else
        a linear map in place of each. Nothing is found for a class with so many or such large tensors that the
        comparison takes too long.
        """
        arguments = {
            "component": component,
            "tensors": list(tensors.items()),
            "cases": list(cases),
            "sizes": dict(sizes),
            "probes": dict(probes),
            "tolerance": tolerance,
            "expected": list(expected),
            "readings": readings,
        }
        try:
            answer = blocks.ask("identify", arguments) if blocks else self.ask("identify", arguments)
        except TooLarge:
            return Comparison(())
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
        return dict(self.ask("gradients", arguments | {"probe": probe, "idx": idx, "targets": targets}))

    def ask(self, operation: str, arguments: dict[str, Any], *before: Operation) -> Any:
        """What the oracle's process answers, once the operations ``before`` are done."""
        process = self._zygote.oracle()
        spent = process.cpu
        left = max(SHORT_CPU, SUBMISSION_CPU - self.cpu)
        try:
            return process.call([*before, (operation, arguments)], min(QUESTION_CPU, left), 10 * QUESTION_CPU)
        except KeyboardInterrupt:
            process.close()  # or its answer would come to the next question
            raise
        except (TimedOut, WireError) as error:
            raise TooLarge(f"the oracle cannot answer {operation}: {error}") from error
        except (Died, RaisedRemotely) as error:
            raise SandboxError(f"the oracle failed at {operation}: {error}") from error
        finally:
            self.cpu += process.cpu - spent

    def holds(self, composed: Composed) -> bool:
        """Whether its process has that model; from now on it has, as the last of few."""
        process = self._zygote.oracle()
        if process is not self._process:
            self._process, self._held = process, []
        known = composed in self._held
        self._held = [*(other for other in self._held if other is not composed), composed][-KEPT:]
        return known


class Composed:
    """A student's whole model as the oracle computes it."""

    def __init__(self, oracle: Oracle, layout: Layout, weights: Mapping[str, np.ndarray]) -> None:
        self._oracle, self.layout, self._weights = oracle, layout, weights
        self._number = next(_numbers)

    def exists(self) -> bool:
        """Whether the layouts of its classes have a counterpart at its sizes."""
        try:
            return bool(self.ask("exists"))
        except TooLarge:
            return False

    def logits(self, idx: np.ndarray) -> np.ndarray | None:
        """(B, T) int64 -> (B, T, V) float32; None if it can compute nothing for so many rows or tokens."""
        try:
            answer: np.ndarray | None = self.ask("logits", {"idx": idx})
        except TooLarge:
            return None
        return answer

    def block_order(self, cases: Sequence[tuple[np.ndarray, np.ndarray]], tolerance: float) -> tuple[int, ...]:
        """The order of the blocks under which it computes ``cases``, tokens and logits; empty if there is none."""
        try:
            return tuple(self.ask("block_order", {"cases": list(cases), "tolerance": tolerance}))
        except TooLarge:
            return ()

    def ask(self, operation: str, arguments: dict[str, Any] | None = None) -> Any:
        """An answer about this model, which is sent along if the oracle's process does not have it."""
        before: list[Operation] = []
        if not self._oracle.holds(self):
            given = {"number": self._number, "layout": asdict(self.layout), "weights": dict(self._weights)}
            before = [("compose", given)]
        return self._oracle.ask(operation, {**(arguments or {}), "number": self._number}, *before)
