"""Carry errors forward: find the definitions that do not run, which other checks replace with correct ones."""

from __future__ import annotations

import ast
import functools
from collections.abc import Collection, Sequence

import numpy as np

from autograder.assignment import ASSIGNMENT
from autograder.assignment.measure import outputs
from autograder.assignment.sizes import Dims
from autograder.grading.verdict import Failed
from autograder.sandbox.remote.errors import StudentError
from autograder.sandbox.remote.student_code import StudentCode

PARTS = ("MultiHeadAttention", "MLP", "Block", "GPT")  # each class after those that it uses
SUBLAYERS = {"MultiHeadAttention": "attention", "MLP": "mlp"}  # and the components that their own checks compare
BATCH = 2


def find_not_running(student: StudentCode, n: Dims, compared: Collection[str]) -> tuple[str, ...]:
    """Return the classes that raise, hang, or return no usable tensor, each tried with correct parts.

    A sublayer among the components ``compared`` ran in its own check: one that stops only here keeps its place, or it
    could get rid of a mistake that costs points in other checks.
    """
    if _runs(student, "GPT", n):
        return ()
    broken: list[str] = []
    for name in PARTS:
        if SUBLAYERS.get(name) not in compared and not _runs(student.with_parts(read_parts(broken)), name, n):
            broken.append(name)
    return tuple(broken)


def _runs(student: StudentCode, name: str, n: Dims) -> bool:
    """Return whether a class gives finite outputs of the right shape, for one token, a few, and T_max."""
    sizes = n.arguments() if name == "GPT" else {"d": n.d} if name == "MLP" else {"d": n.d, "H": n.H, "T_max": n.T_max}
    try:
        module = student.build(name, sizes)
        for T in (1, n.T_max // 2, n.T_max):
            if name == "GPT":
                outputs.require_logits(module(np.resize(np.arange(n.V), (BATCH, T))), (BATCH, T, n.V))
            else:
                x = np.linspace(-1, 1, BATCH * T * n.d, dtype=np.float32).reshape(BATCH, T, n.d)
                outputs.require_tensor(module(x), x.shape)
    except (Failed, StudentError):
        return False
    return True


def read_parts(names: Sequence[str]) -> dict[str, str]:
    """Return the sources of the correct classes or functions ``names``."""
    return {name: _read_sources()[name] for name in names}


@functools.cache
def _read_sources() -> dict[str, str]:
    text = ASSIGNMENT.parts.read_text("utf-8")
    found = {
        node.name: ast.get_source_segment(text, node)
        for node in ast.parse(text).body
        if isinstance(node, ast.ClassDef | ast.FunctionDef)
    }
    return {name: source for name, source in found.items() if source}
