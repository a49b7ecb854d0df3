"""An object built by the student's code, as the checks see it. Numbers in, numbers out."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Protocol

import numpy as np

from autograder.sandbox import answers
from autograder.sandbox.answers import Answer, Parameter
from autograder.sandbox.errors import Crashed
from autograder.sandbox.process import Process

CALLED = {"__call__": "forward"}


class Maker(Protocol):
    """What a module asks of the ``Student`` that built it."""

    @property
    def process(self) -> Process | None: ...

    def call(
        self,
        call: str,
        kind: str,
        operation: str,
        arguments: dict[str, Any],
        read: Callable[[Any], Answer] = ...,
    ) -> Answer: ...

    def queue(self, operation: str, arguments: dict[str, Any]) -> None: ...


class Module:
    """An object built by the student's code. It lives in one process, and is gone when that is."""

    def __init__(
        self,
        student: Maker,
        process: Process | None,
        number: int,
        name: str,
        parameters: tuple[Parameter, ...],
        methods: frozenset[str],
        is_module: bool,
    ) -> None:
        self._student, self._process = student, process
        self.number, self.name, self.parameters = number, name, parameters
        self.methods, self.is_module = methods, is_module

    @property
    def numel(self) -> int:
        """The number of parameters, each shared one counted once."""
        return sum(p.size for p in self.parameters)

    def __call__(self, *arguments: Any, seed: int = 0) -> Any:
        """What the module returns for ``arguments`` (numpy arrays arrive as tensors)."""
        return self.method("__call__", *arguments, seed=seed)

    def method(self, name: str, *arguments: Any, seed: int = 0) -> Any:
        """What the method ``name`` returns."""
        kind = f"{self.name}.{CALLED.get(name, name)}"
        given = {"number": self.number, "method": name, "arguments": list(arguments), "seed": seed}
        self._same_process()
        return self._student.call(f"{kind}({', '.join(map(shown, arguments))})", kind, "call", given)

    def trial(self, x: np.ndarray) -> dict[str, int]:
        """How often each stand-in is called when the module is called with ``x``."""
        kind = f"{self.name}.forward"
        self._same_process()
        given = {"number": self.number, "x": x}
        return self._student.call(f"{kind}({shown(x)})", kind, "trial", given, answers.counts)

    def stand_in(self, name: str, matrix: np.ndarray, d: int, count: int) -> bool:
        """Let the ``count`` parts inside that have the size of the class ``name`` compute x @ matrix, if so many exist.

        Their parameters then belong to the stand-in.
        """
        self._same_process()
        given = {"number": self.number, "name": name, "matrix": matrix, "d": d, "count": count}
        found = self._student.call(self.name, "stand-in", "stand_in_children", given, list)
        paths = tuple(f"{path}." for path in found)
        self.parameters = tuple(p.held_by(name) if p.name.startswith(paths) else p for p in self.parameters)
        return bool(paths)

    def gradients(self, idx: np.ndarray, targets: np.ndarray) -> dict[str, np.ndarray]:
        """The gradients of the model's own loss, by parameter; those that get none are not there."""
        self._same_process()
        call = f"the gradients of {self.name} for idx of {shown(idx)}"
        given = {"number": self.number, "idx": idx, "targets": targets}
        return self._student.call(call, f"{self.name}.forward", "gradients", given, self._values)

    def train(self, idx: np.ndarray, targets: np.ndarray, steps: int, rate: float, stop: float) -> list[float]:
        """The losses, as the model computes them, of up to ``steps`` steps of Adam on one batch."""
        self._same_process()
        given = {"number": self.number, "idx": idx, "targets": targets, "steps": steps, "rate": rate, "stop": stop}
        call = f"{steps} steps of training {self.name}"
        return self._student.call(
            call, f"{self.name}.forward", "train", given, lambda answer: list(map(answers.real, answer[:steps]))
        )

    def trace(self, idx: np.ndarray) -> dict[str, Any]:
        """What the model returns for ``idx``, and the shapes that hooks see come out of its Blocks."""
        self._same_process()
        call = f"{self.name}.forward({shown(idx)})"
        return self._student.call(
            call, f"{self.name}.forward", "trace", {"number": self.number, "idx": idx}, answers.traced
        )

    def inputs_during(self, name: str, *arguments: Any, seed: int = 0) -> list[np.ndarray]:
        """What the model is given, call by call, while its method ``name``, or else the function of gpt.py, runs."""
        self._same_process()
        where = "" if name in self.methods else "gpt"
        given = {"number": self.number, "module": where, "function": name, "arguments": list(arguments), "seed": seed}
        seen = self._student.call(f"{self.name}.{name} under watch", f"{self.name}.{name}", "spy", given, list)
        return [idx for idx in seen if isinstance(idx, np.ndarray) and idx.ndim]

    def push(self, weights: Mapping[str, np.ndarray]) -> None:
        """Copy ``weights``, which stay as they are until then, into the parameters of these names at the next call."""
        self._same_process()
        self._student.queue("push", {"number": self.number, "weights": dict(weights)})

    def pull(self) -> dict[str, np.ndarray]:
        """The values of all parameters, as the module claims them."""
        self._same_process()
        call = f"{self.name} parameters"
        return self._student.call(call, self.name, "pull", {"number": self.number}, self._values)

    def _values(self, answer: Any) -> dict[str, np.ndarray]:
        """What came for the parameters, which has their shapes."""
        shapes = {p.name: p.shape for p in self.parameters}
        values = {str(name): value for name, value in answer.items() if value.size}  # ``parameters`` has no empty ones
        if any(shapes.get(name) != value.shape for name, value in values.items()):
            raise ValueError("not the shapes of the parameters")
        return values

    def _same_process(self) -> None:
        if self._process is not self._student.process:
            raise Crashed(self.name, f"the Python process died in an earlier call, and the {self.name} with it")


def shown(value: Any) -> str:
    """An argument, as it stands in a message."""
    if isinstance(value, np.ndarray):
        return f"shape {tuple(value.shape)}"
    return value.name if isinstance(value, Module) else repr(value)
