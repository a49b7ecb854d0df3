"""Give checks access to an object that lives in the student's process. Numbers in, numbers out."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Protocol

import numpy as np

from autograder.core.assignment import Contract
from autograder.sandbox.remote import replies
from autograder.sandbox.remote.client import Process
from autograder.sandbox.remote.errors import Crashed
from autograder.sandbox.remote.replies import Answer, Parameter

METHOD_NAMES = {"__call__": "forward"}


class Caller(Protocol):
    """The part of ``StudentCode`` that a proxy uses."""

    contract: Contract

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


class ModuleProxy:
    """An object built by the student's code, which lives and ends with one process."""

    def __init__(
        self,
        student: Caller,
        process: Process | None,
        number: int,
        name: str,
        parameters: tuple[Parameter, ...],
        methods: frozenset[str],
    ) -> None:
        self._student, self._process = student, process
        self.number, self.name, self.parameters = number, name, parameters
        self.methods = methods

    @property
    def numel(self) -> int:
        """Return the number of parameters, counting each shared one once."""
        return sum(p.size for p in self.parameters)

    def __call__(self, *arguments: Any, seed: int = 0) -> Any:
        """Return the module's output for ``arguments`` (numpy arrays arrive as tensors)."""
        return self.method("__call__", *arguments, seed=seed)

    def method(self, name: str, *arguments: Any, seed: int = 0) -> Any:
        """Return the value of the method ``name``."""
        kind = f"{self.name}.{METHOD_NAMES.get(name, name)}"
        given = {"number": self.number, "method": name, "arguments": list(arguments), "seed": seed}
        self._same_process()
        return self._student.call(f"{kind}({', '.join(map(format_argument, arguments))})", kind, "call", given)

    def count_stub_calls(self, x: np.ndarray) -> dict[str, int]:
        """Return how often each stub is called when the module is called with ``x``."""
        kind = f"{self.name}.forward"
        self._same_process()
        given = {"number": self.number, "x": x}
        return self._student.call(
            f"{kind}({format_argument(x)})", kind, "count_stub_calls", given, replies.parse_counts
        )

    def use_stub(self, name: str, matrix: np.ndarray, size: int, count: int) -> bool:
        """Make the ``count`` parts with ``size`` weights each compute x @ matrix; return False if their number differs.

        The stub ``name`` then owns their parameters.
        """
        self._same_process()
        given = {"number": self.number, "name": name, "matrix": matrix, "size": size, "count": count}
        found = self._student.call(self.name, "stub", "stub_parts", given, list)
        paths = tuple(f"{path}." for path in found)
        self.parameters = tuple(p.with_owner(name) if p.name.startswith(paths) else p for p in self.parameters)
        return bool(paths)

    def gradients(self, idx: np.ndarray, targets: np.ndarray) -> dict[str, np.ndarray]:
        """Return the gradients of the model's own loss, by parameter; parameters without one are omitted."""
        self._same_process()
        call = f"the gradients of {self.name} for idx of {format_argument(idx)}"
        given = {"number": self.number, "idx": idx, "targets": targets}
        return self._student.call(call, f"{self.name}.forward", "compute_gradients", given, self._values)

    def train(self, idx: np.ndarray, targets: np.ndarray, steps: int, rate: float, stop: float) -> list[float]:
        """Return the model's own losses over up to ``steps`` steps of Adam on one batch."""
        self._same_process()
        given = {"number": self.number, "idx": idx, "targets": targets, "steps": steps, "rate": rate, "stop": stop}
        call = f"{steps} steps of training {self.name}"
        return self._student.call(
            call, f"{self.name}.forward", "train", given, lambda answer: list(map(replies.parse_real, answer[:steps]))
        )

    def trace(self, idx: np.ndarray, part: str) -> dict[str, Any]:
        """Return the model's ``output`` for ``idx``, and the output shapes of its parts of the class ``parts``."""
        self._same_process()
        call = f"{self.name}.forward({format_argument(idx)})"
        given = {"number": self.number, "module": self._student.contract.main, "name": part, "idx": idx}
        return self._student.call(call, f"{self.name}.forward", "trace", given, replies.parse_trace)

    def record_inputs(self, name: str, *arguments: Any, seed: int = 0) -> list[np.ndarray]:
        """Return the model's inputs, call by call, while its method ``name``, or else the function, runs."""
        self._same_process()
        where = "" if name in self.methods else self._student.contract.main
        given = {"number": self.number, "module": where, "function": name, "arguments": list(arguments), "seed": seed}
        seen = self._student.call(
            f"{self.name}.{name} (inputs recorded)", f"{self.name}.{name}", "record_inputs", given, list
        )
        return [idx for idx in seen if isinstance(idx, np.ndarray) and idx.ndim]

    def push(self, weights: Mapping[str, np.ndarray]) -> None:
        """Queue ``weights`` for the next call, which copies them into the parameters; don't change them before."""
        self._same_process()
        # Arithmetic turns an array without axes into a number.
        arrays = {name: np.asarray(value) for name, value in weights.items()}
        self._student.queue("push", {"number": self.number, "weights": arrays})

    def pull(self) -> dict[str, np.ndarray]:
        """Return the values of all parameters, as the module claims them."""
        self._same_process()
        call = f"{self.name} parameters"
        return self._student.call(call, self.name, "pull", {"number": self.number}, self._values)

    def _values(self, answer: Any) -> dict[str, np.ndarray]:
        """Parse values for the parameters and check their shapes."""
        shapes = {p.name: p.shape for p in self.parameters}
        values = {str(name): value for name, value in answer.items() if value.size}  # ``parameters`` omits empty ones
        if any(shapes.get(name) != value.shape for name, value in values.items()):
            raise ValueError("not the shapes of the parameters")
        return values

    def _same_process(self) -> None:
        if self._process is not self._student.process:
            raise Crashed(self.name, f"the Python process of this {self.name} died in an earlier call")


def format_argument(value: Any) -> str:
    """Return an argument as shown in a message."""
    if isinstance(value, np.ndarray):
        return f"shape {tuple(value.shape)}"
    return value.name if isinstance(value, ModuleProxy) else repr(value)
