"""Try a function of the student's verification suite on right and wrong models, which the oracle computes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from autograder.assignment.oracle.client import Oracle
from autograder.assignment.oracle.wrong_models import RIGHT, WRONG_MODELS, WrongModel
from autograder.assignment.sizes import Dims
from autograder.sandbox.remote.errors import Raised
from autograder.sandbox.remote.oracle_process import TooLarge
from autograder.sandbox.remote.student_code import StudentCode

# The width exceeds V, so that targets are valid indices of an output that lacks the unembedding.
SIZES = (Dims(V=13, T_max=10, d=24, H=2, L=2), Dims(V=29, T_max=8, d=36, H=3, L=3))
SHALLOW = (Dims(V=13, T_max=10, d=24, H=2, L=1), Dims(V=29, T_max=8, d=36, H=3, L=1))
LOSS_SIZES = (Dims(V=37, T_max=16, d=32, H=2, L=1), Dims(V=23, T_max=12, d=48, H=3, L=1))
LAYOUTS = ("heads", "batched")  # of the weights; drawn anew for each model, so that it tells nothing
MAX_MODELS = 200  # that one call can make
MAX_ENTRIES = 1 << 15  # of the arguments of one call of a model
INVALID = {"raised": ("RuntimeError", "this model is not from the present call")}


class ModelHost:
    """Answers for the models that one call of a student's function uses: the same row, each with a seed of its own."""

    def __init__(self, oracle: Oracle, row: WrongModel, n: Dims, seed: int, variant: str) -> None:
        self._oracle = oracle
        self._model = (row.function, row.name, tuple(n.arguments().values()), seed)
        self._variant, self._made = variant, 0
        self.has_raised = False  # whether a call of a model raised
        self.too_large = False  # whether the grader could not compute one

    def answer(self, question: Any) -> tuple[Any, float]:
        """Return what the student's process gets, and the oracle's CPU seconds."""
        before = self._oracle.client.cpu
        try:
            answer = self._answer(question)
        except TooLarge:
            answer = self._refuse("the grader takes too long to compute this")
        self.has_raised = self.has_raised or "raised" in answer
        return answer, self._oracle.client.cpu - before

    def _refuse(self, reason: str) -> dict[str, Any]:
        self.too_large = True
        return {"raised": ("RuntimeError", reason)}

    def _answer(self, question: Any) -> dict[str, Any]:
        match question:
            case ("make",) if self._made < MAX_MODELS:
                self._made += 1
                made = self._oracle.ask("make_under_test", {"model": self._name_model(self._made - 1)})
                return {"value": made | {"number": self._made - 1}}
            case ("make",):
                return self._refuse(f"at most {MAX_MODELS} models can be made in one call")
            case (
                "forward" | "gradients",
                int(number),
                list(arguments),
                dict(named),
                None | np.ndarray() as weights,
                *outer,
            ) if 0 <= number < self._made:
                given = {"model": self._name_model(number), "arguments": arguments, "named": named, "weights": weights}
                entries = sum(np.size(value) for value in (*arguments, *named.values()))
                if entries > MAX_ENTRIES:
                    return self._refuse(f"the grader computes at most {MAX_ENTRIES:,} tokens at once")
                answer: dict[str, Any] = self._oracle.ask(
                    "run_under_test", given | ({"gradients": outer[0]} if outer else {})
                )
                return answer
        return INVALID

    def _name_model(self, number: int) -> list[Any]:
        return [*self._model, number, self._variant]


@dataclass(frozen=True, slots=True)
class Trial:
    """A function's answer for one model: whether it accepts the model, or what it raised or returned instead."""

    row: WrongModel
    n: Dims
    variant: str
    accepts: bool | None
    error: Raised | None = None
    value: Any = None

    def describe(self) -> str:
        """Describe the sizes and the initialisation."""
        init = "GPT-2's standard deviation of 0.02" if "gpt2" in self.variant else "PyTorch's default initialisation"
        return f"{self.n} and {init}"


@dataclass(frozen=True, slots=True)
class Call:
    """How a function is called: with models of these sizes, and which of the sizes it gets."""

    sizes: tuple[Dims, ...]
    arguments: tuple[str, ...]
    makes: bool = False  # whether it gets a function that makes models

    def get_arguments(self, n: Dims) -> list[int]:
        """Return the arguments after the model."""
        return [getattr(n, name) for name in self.arguments]


CALLS = {
    "count_is_right": Call(SIZES, ("V", "T_max", "d", "L")),
    "is_causal": Call(SHALLOW, ("V", "T_max")),
    "initial_loss_is_right": Call(LOSS_SIZES, ("V", "T_max", "d"), makes=True),
    "shapes_are_right": Call(SHALLOW, ("V", "T_max", "d", "L")),
}


def try_function(student: StudentCode, oracle: Oracle, function: str, rng: np.random.Generator) -> list[Trial]:
    """Return the trials of a function, the correct models first, then the wrong ones in the order of the rows.

    They run in random order, so that a function that counts its calls learns nothing. The correct models have different
    sizes, initialisations and layouts. Raises StudentError, unless it is an exception that the function raised.
    """
    called = CALLS[function]
    first, second = map(str, rng.permutation(LAYOUTS))
    models = [(RIGHT, called.sizes[0], first), (RIGHT, called.sizes[1], f"gpt2 {second}")]
    models += [(row, called.sizes[0], str(rng.choice(LAYOUTS))) for row in WRONG_MODELS if row.function == function]
    trials: dict[int, Trial] = {}
    for number in map(int, rng.permutation(len(models))):
        row, n, variant = models[number]
        host = ModelHost(oracle, row, n, int(rng.integers(1 << 31)), variant)
        arguments, seed = called.get_arguments(n), int(rng.integers(1 << 31))
        try:
            value = student.function_of_module(function, host, arguments, seed, called.makes)
            trials[number] = Trial(row, n, variant, _as_bool(value), value=value)
        except Raised as error:
            if "AssertionError" in error.remote.kinds or (host.has_raised and not host.too_large):
                trials[number] = Trial(row, n, variant, accepts=False)
            else:
                trials[number] = Trial(row, n, variant, accepts=None, error=error)
    return [trials[number] for number in range(len(models))]


def _as_bool(value: Any) -> bool | None:
    """Return True or False, also from a tensor with one entry; None for anything else."""
    if isinstance(value, np.ndarray) and value.size == 1:
        value = value.reshape(()).item()
    return bool(value) if isinstance(value, (bool, np.bool_)) else None
