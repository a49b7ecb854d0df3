"""``python -m tests.plain``: run the same checks on the reference in the checks' own process, unprotected. The
benchmark compares grading with this floor: no fork, no wire, no sandbox, torch imported once.
"""

from __future__ import annotations

import contextlib
import sys
import time
from collections.abc import Iterator
from typing import Any

import torch

from autograder.assignment import ASSIGNMENT
from autograder.assignment.oracle import server
from autograder.grading import rubric, suite
from autograder.sandbox.isolation.confine import Limits
from autograder.sandbox.remote import rpc, worker
from autograder.sandbox.remote.client import Host, Operation, RemoteError, parse_exception
from autograder.submission.read import read_submission
from tests.conftest import ROOT

FILES = ("gpt", "paper", "head", "verify")


class Here:
    """A replacement for a process that calls the operations directly."""

    is_alive, layers, output, idle = True, (), b"", 0.0

    def __init__(self, role: str) -> None:
        self._operations: Any = worker.Worker() if role == "student" else server.Operations()
        self._modules: dict[str, Any] = {}
        self._started = time.process_time()

    @property
    def cpu(self) -> float:
        return time.process_time() - self._started

    def call(self, operations: list[Operation], *_: float, host: Host | None = None) -> Any:
        self._operations.ask = lambda question: host and numbers(host.answer(numbers(question))[0])
        with self._modules_of_its_own():
            try:
                return numbers(rpc.perform(self._operations, operations))
            except Exception as error:
                raise RemoteError(parse_exception(numbers(rpc.describe(error, self._operations)))) from error

    @contextlib.contextmanager
    def _modules_of_its_own(self) -> Iterator[None]:
        """Remove modules: two submissions, and the checks too, have modules of the same name."""
        others = {name: sys.modules.pop(name) for name in FILES if name in sys.modules}
        finders = sys.meta_path[:]
        sys.modules.update(self._modules)
        sys.meta_path.insert(0, getattr(self._operations, "finder", finders[0]))
        try:
            yield
        finally:
            self._modules = {name: sys.modules.pop(name) for name in FILES if name in sys.modules}
            sys.modules.update(others)
            sys.meta_path[:] = finders

    def close(self) -> None:
        pass


class Nursery:
    """A replacement for a zygote."""

    limits = Limits()

    def __init__(self) -> None:
        self._oracle = Here("oracle")

    def fork(self, role: str) -> Here:
        return Here(role)

    def oracle(self, *_: str) -> Here:
        return self._oracle

    def wait_until_ready(self) -> dict[str, Any]:
        return {"torch": torch.__version__, "python": "", "platform": ""}


def numbers(value: Any) -> Any:
    """Return ``value`` with tensors as arrays."""
    if isinstance(value, torch.Tensor):
        return rpc._as_array(value)
    if isinstance(value, dict):
        return {key: numbers(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return type(value)(map(numbers, value))
    return value


def main() -> None:
    torch.set_num_threads(1)
    report = suite.grade(
        ASSIGNMENT, read_submission(ROOT / "reference", ASSIGNMENT), Nursery(), rubric.load(ASSIGNMENT)
    )  # type: ignore[arg-type]
    print(f"{report.score:g} / {report.max_score:g} points")


if __name__ == "__main__":
    main()
