"""The oracle's handle: the same wire as a student's, but its failures are the grader's own."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from autograder.sandbox.process import Died, Process, RaisedRemotely, SandboxError, TimedOut, Zygote


@dataclass(frozen=True, slots=True)
class Match:
    """Under which of ``align``'s readings, for how many heads, and with which mistakes the oracle agrees."""

    mistakes: tuple[str, ...]
    reading: int
    heads: int


CPU = 60.0  # s: a guard against the grader's own mistakes


class Oracle:
    """Asks a student-free fork of the zygote what the right model computes; forked at the first question."""

    def __init__(self, zygote: Zygote) -> None:
        self._zygote = zygote
        self._process: Process | None = None

    def logits(self, weights: Mapping[str, np.ndarray], idx: np.ndarray) -> np.ndarray:
        """(B, T) int64 -> (B, T, V), in the weights' precision; ``weights`` as in ``oracle.gpt``."""
        answer: np.ndarray = self._ask("logits", {"weights": dict(weights), "idx": idx})
        return answer

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
    ) -> Match | None:
        """With which known mistakes the oracle's ``component`` computes ``cases``; None where with none.

        ``tensors`` are the student's, in the order in which the class lists them; ``tolerance`` is relative to the
        largest entry.
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
            },
        )
        if answer["mistakes"] is None:
            return None
        return Match(tuple(answer["mistakes"]), answer["reading"], answer["heads"])

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

    @property
    def cpu(self) -> float:
        """CPU seconds used so far."""
        return self._process.cpu if self._process else 0.0

    def close(self) -> None:
        """End the oracle's process."""
        if self._process is not None:
            self._process.close()
            self._process = None

    def _ask(self, operation: str, arguments: dict[str, Any]) -> Any:
        self._process = self._process or self._zygote.fork("oracle")
        try:
            return self._process.call(operation, arguments, CPU, 10 * CPU)
        except (Died, TimedOut, RaisedRemotely) as error:
            raise SandboxError(f"the oracle failed at {operation}: {error}") from error
