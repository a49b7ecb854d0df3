"""Ask this assignment's oracle: compose a model, identify mistakes, compute attention and gradients."""

from __future__ import annotations

import itertools
from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from autograder.assignment import mistakes
from autograder.assignment.mistakes import Mistake
from autograder.assignment.oracle.layouts import Layout, Source
from autograder.sandbox.remote.client import Operation, Process
from autograder.sandbox.remote.oracle_process import OracleProcess, TooLarge

WrongSteps = tuple[tuple[str, int], ...]


@dataclass(frozen=True, slots=True)
class Match:
    """A match with the oracle: the mistakes, the layout, and the number of heads or blocks.

    ``steps`` names the mistakes that change the oracle's steps, each with the number of the row's ``steps``.
    """

    mistakes: tuple[Mistake, ...]
    layout: Layout
    count: int
    steps: WrongSteps = ()


@dataclass(frozen=True, slots=True)
class ClassLayout:
    """The weight layout of one class, as found by its own check, the names of its tensors, and the steps."""

    names: tuple[str, ...]
    layout: Layout
    steps: WrongSteps


@dataclass(frozen=True, slots=True)
class ModelLayout:
    """The roles of GPT's tensors, at one size.

    ``parts`` are "attention", "mlp", "block" and, if GPT's own tensors are known, "model". ``local`` has the names of a
    part's tensors in its class, ``blocks`` their names in GPT, block by block in the order of application; ``own`` are
    the tensors of GPT itself.
    """

    sizes: Mapping[str, int]
    parts: Mapping[str, ClassLayout]
    local: Mapping[str, tuple[str, ...]]
    blocks: tuple[Mapping[str, tuple[str, ...]], ...]
    own: tuple[str, ...]

    @property
    def names(self) -> set[str]:
        """Return the names of all tensors that it assigns."""
        return {*self.own, *(name for block in self.blocks for part in block.values() for name in part)}


@dataclass(frozen=True, slots=True)
class Findings:
    """The explanations of a class with the fewest mistakes: one without any if it is correct, none if nothing fits.

    ``gap`` is the outputs' distance from the correct ones, relative to the largest, under the nearest layout of the
    tensors (None if they cannot be compared); ``position`` is the first that is off; ``alone`` says that sequences of
    one token are correct. ``is_incomplete`` says that the search took too long, so that nothing else is known.
    """

    matches: tuple[Match, ...]
    gap: float | None = None
    position: int = -1
    alone: bool = False
    is_incomplete: bool = False


KEPT = 4  # composed models kept in the oracle's process
_numbers = itertools.count(1)  # numbers composed models, which the oracle's process keeps longer than a handle lives


def write_layout(layout: Layout) -> dict[str, dict[str, Any]]:
    """Return a layout in its form on the wire."""
    return {role: asdict(source) for role, source in layout.items()}


def read_layout(sources: Mapping[str, Mapping[str, Any]]) -> Layout:
    """Return a layout from its form on the wire."""
    return {role: Source(**source) for role, source in sources.items()}


class Oracle:
    """The questions that checks ask the oracle."""

    def __init__(self, process: OracleProcess) -> None:
        self.ask = process.ask
        self.client = process
        self._process: Process | None = None
        self._models: list[ComposedModel] = []  # kept in that process, most recent last

    def compose(self, layout: ModelLayout, weights: Mapping[str, np.ndarray]) -> ComposedModel | None:
        """Compose the student's GPT from its classes, with the mistakes in ``layout``.

        ``weights`` are the student's, by name, and decide the precision. None if they do not fit the layout of a class,
        found at other sizes.
        """
        composed = ComposedModel(self, layout, weights)
        return composed if composed.exists() else None

    def attention(self, weights: Mapping[str, np.ndarray], x: np.ndarray) -> np.ndarray:
        """Compute attention (B, T, d) -> (B, T, d) with the weights q, k, v, o and o.bias of one block."""
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
        expected: Collection[Mistake] = (),
        max_layouts: int | None = None,
        max_mistakes: int = 2,
        blocks: ComposedModel | None = None,
    ) -> Findings:
        """Find the known mistakes with which the oracle's ``component`` reproduces ``cases``.

        ``cases`` are the inputs and outputs of a student's class; ``tensors`` are its tensors, in the order in which it
        lists them. ``tolerance`` is relative to the largest entry. ``expected`` mistakes are tried on their own first.
        At most ``max_layouts`` of an attention's tensors are tried, or all if None; the first go by names. Explanations
        have at most ``max_mistakes``. A "model" uses the ``blocks`` of a composed one, or else a stub for each. The
        result is empty if too many or too large tensors make the comparison take too long.
        """
        arguments = {
            "component": component,
            "tensors": list(tensors.items()),
            "cases": list(cases),
            "sizes": dict(sizes),
            "probes": dict(probes),
            "tolerance": tolerance,
            "expected": [row.name for row in expected],
            "max_layouts": max_layouts,
            "max_mistakes": max_mistakes,
        }
        try:
            answer = blocks.ask("identify", arguments) if blocks else self.ask("identify", arguments)
        except TooLarge:
            return Findings((), is_incomplete=True)
        matches = tuple(
            Match(
                tuple(map(mistakes.named, m["mistakes"])),
                read_layout(m["layout"]),
                m["count"],
                tuple(map(tuple, m["steps"])),
            )
            for m in answer["matches"]
        )
        return Findings(matches, *(answer["nearest"] or ()))

    def outputs(
        self,
        component: str,
        tensors: Mapping[str, np.ndarray],
        inputs: Sequence[np.ndarray],
        sizes: Mapping[str, int],
        probes: Mapping[str, np.ndarray],
        match: Match,
    ) -> list[np.ndarray] | None:
        """Compute the outputs of an attention, MLP or block for ``inputs``, as in an earlier ``match`` of the class.

        Return None if that takes too long, or if the tensors or sizes do not allow it.
        """
        arguments = {
            "component": component,
            "tensors": list(tensors.items()),
            "inputs": list(inputs),
            "sizes": dict(sizes),
            "probes": dict(probes),
            "match": {"layout": write_layout(match.layout), "count": match.count, "steps": match.steps},
        }
        try:
            answer: list[np.ndarray] | None = self.ask("outputs", arguments)
        except TooLarge:
            return None
        return answer

    def gradients(
        self,
        tensors: Mapping[str, np.ndarray],
        layout: Layout,
        sizes: Mapping[str, int],
        probe: np.ndarray,
        idx: np.ndarray,
        targets: np.ndarray,
    ) -> dict[str, np.ndarray]:
        """Compute gradients of the loss for GPT's own ``tensors``, with x @ ``probe`` in place of each block."""
        arguments = {"tensors": list(tensors.items()), "layout": write_layout(layout), "sizes": dict(sizes)}
        return dict(self.ask("gradients", arguments | {"probe": probe, "idx": idx, "targets": targets}))

    def has_model(self, composed: ComposedModel) -> bool:
        """Return whether the oracle's process has the model with this number, and record it as the most recent."""
        process = self.client.process
        if process is not self._process:
            self._process, self._models = process, []
        known = composed in self._models
        self._models = [*(other for other in self._models if other is not composed), composed][-KEPT:]
        return known


class ComposedModel:
    """A student's whole model, as computed by the oracle."""

    def __init__(self, oracle: Oracle, layout: ModelLayout, weights: Mapping[str, np.ndarray]) -> None:
        self._oracle, self.layout, self._weights = oracle, layout, weights
        self._number = next(_numbers)

    def exists(self) -> bool:
        """Return whether its weights fit the layouts of its classes."""
        try:
            return bool(self.ask("exists"))
        except TooLarge:
            return False

    def logits(self, idx: np.ndarray) -> np.ndarray | None:
        """Compute logits (B, T) int64 -> (B, T, V) float32; None if that fails for so many rows or tokens."""
        try:
            answer: np.ndarray | None = self.ask("logits", {"idx": idx})
        except TooLarge:
            return None
        return answer

    def block_order(self, cases: Sequence[tuple[np.ndarray, np.ndarray]], tolerance: float) -> tuple[int, ...]:
        """Return the order of the blocks that reproduces ``cases``, tokens and logits, or an empty one."""
        try:
            return tuple(self.ask("block_order", {"cases": list(cases), "tolerance": tolerance}))
        except TooLarge:
            return ()

    def ask(self, operation: str, arguments: dict[str, Any] | None = None) -> Any:
        """Ask about this model, and send it along if the oracle's process does not have it."""
        before: list[Operation] = []
        if not self._oracle.has_model(self):
            given = {"number": self._number, "layout": asdict(self.layout), "weights": dict(self._weights)}
            before = [("compose", given)]
        return self._oracle.ask(operation, {**(arguments or {}), "number": self._number}, *before)
