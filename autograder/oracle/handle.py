"""The oracle's handle: the same wire as a student's, but its failures are the grader's own."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from autograder.sandbox.process import Died, Process, RaisedRemotely, SandboxError, TimedOut, Zygote

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
