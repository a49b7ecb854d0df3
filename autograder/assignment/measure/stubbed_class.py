"""Classes with stubs, known linear maps, in place of the other classes that they use."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NamedTuple

import numpy as np

from autograder.assignment import mistakes
from autograder.assignment.mistakes import Mistake
from autograder.grading.verdict import Partial
from autograder.sandbox.remote.errors import NotDefined, Raised, StudentError
from autograder.sandbox.remote.proxy import ModuleProxy
from autograder.sandbox.remote.student_code import StudentCode

PARTS = {"Head", "MultiHeadAttention", "MLP", "Block"}
# Weights in matrices, in units of d^2: they identify a part whose class has a different name from the handout's.
WEIGHTS = {"MultiHeadAttention": 4, "MLP": 8, "Block": 12}


class StubbedClass(NamedTuple):
    """A class with stubs, whether all of them are used, and its ``build`` for ``compare_with_oracle``."""

    module: ModuleProxy
    used: bool
    build: Callable[[bool], ModuleProxy]


def build_with_stubs(
    student: StudentCode,
    name: str,
    sizes: Mapping[str, int],
    stubs: Mapping[str, np.ndarray],
    trial: np.ndarray,
) -> StubbedClass:
    """Build the class ``name`` with stubs, in float64, or in float32 if that fails."""

    def build(double: bool) -> tuple[ModuleProxy, bool]:
        x = trial if trial.dtype == np.int64 else trial.astype(np.float64 if double else np.float32)
        return stub_parts(student, name, sizes, stubs, x, double)

    double = True
    try:
        module, used = build(double)
    except Raised:
        double = False
        module, used = build(double)
    ready = {double: module}
    return StubbedClass(module, used, lambda double: ready.pop(double, None) or build(double)[0])


def stub_parts(
    student: StudentCode,
    name: str,
    sizes: Mapping[str, int],
    stubs: Mapping[str, np.ndarray],
    trial: np.ndarray,
    double: bool = False,
) -> tuple[ModuleProxy, bool]:
    """Build the class ``name`` with stubs (linear maps) for the classes ``stubs``; return whether all are used.

    A class that is absent, not implemented, or raises in its constructor is replaced entirely. For a class that is not
    used at all, a submodule of its size is replaced instead. ``trial`` is an input for testing which classes are used.
    """
    student.use_stubs(stubs, [part for part in stubs if not is_usable(student, part)])
    try:
        module = student.build(name, sizes, double=double)
    except StudentError as error:
        if not _is_about_part(error, name):
            raise
        student.use_stubs(stubs, list(stubs))
        module = student.build(name, sizes, double=double, apart=True)
    calls = module.count_stub_calls(trial)
    unused = [part for part in stubs if not calls.get(part)]
    inside = [module.use_stub(part, stubs[part], WEIGHTS[part] * sizes["d"] ** 2, sizes.get("L", 1)) for part in unused]
    if unused and all(inside):
        calls = module.count_stub_calls(trial)
        unused = [part for part in unused if not calls.get(part)]
    return module, not unused


def find_wrong_arguments(
    student: StudentCode, name: str, expected: Mapping[str, Mapping[str, int]], deducted: set[Mistake]
) -> Partial | None:
    """Return the verdict on a class ``name`` that builds a part, now a stub, with other sizes than ``expected``.

    Arguments are passed by name if the part's constructor has all the names, else by position. A longer T_max does no
    harm.
    """
    calls = student.constructor_calls()
    for part, sizes in expected.items():
        for call in calls.get(part, []):
            keys = sizes if sizes.keys() <= call.keys() else [*call][: len(sizes)]
            given = {size: call[key] for size, key in zip(sizes, keys, strict=False)}
            if any(value < sizes[size] if size == "T_max" else value != sizes[size] for size, value in given.items()):
                right, wrong = (", ".join(f"{k}={v}" for k, v in values.items()) for values in (sizes, given))
                deducted.add(mistakes.block.CONSTRUCTOR_ARGUMENTS)
                return Partial(
                    f"With {right}, {name} builds {part}({wrong}).",
                    causes=[mistakes.block.CONSTRUCTOR_ARGUMENTS],
                    part=part,
                )
    return None


def _is_about_part(error: StudentError, name: str) -> bool:
    """Return whether building the class ``name`` may have failed because of another class."""
    if isinstance(error, NotDefined):
        return error.name != name
    if isinstance(error, Raised):
        return bool({frame[2].split(".")[0] for frame in error.remote.frames} & (PARTS - {name}))
    return True


def is_usable(student: StudentCode, name: str) -> bool:
    """Return whether the submission has a class of that name with an implemented constructor."""
    try:
        _, _, stubs = student.locate(name)
    except (NotDefined, Raised):
        return False
    return "__init__" not in stubs
