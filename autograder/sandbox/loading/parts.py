"""Replace a student's classes with the grader's correct ones, so that checks about other definitions can run.

The assignment's parts arrive as source, and only those that are needed: no other process of the submission has them.
"""

from __future__ import annotations

import contextlib
from typing import Any

import torch
from torch import nn
from torch.nn import functional

from autograder.sandbox.loading.stubs import PermissiveModule


def install(namespace: dict[str, Any], sources: dict[str, str], contract: list[str]) -> None:
    """Define the classes in ``sources`` and put them into ``namespace``.

    A part refers to the others by name: to the student's own, unless that is replaced too. A part with ``own_init``
    gets the student's constructor there, and inherits the student's other methods.
    """
    known: dict[str, Any] = {name: namespace[name] for name in contract if name in namespace}
    known |= {"Any": Any, "Tensor": torch.Tensor, "PermissiveModule": PermissiveModule}
    known |= {"contextlib": contextlib, "torch": torch, "nn": nn, "F": functional}
    for name, source in sources.items():
        own = namespace.get(name)
        exec(compile(source, "<correct part>", "exec"), known)
        if hasattr(known[name], "own_init") and isinstance(own, type):
            with contextlib.suppress(TypeError):  # the bases or their metaclasses may not combine
                known[name] = type(name, (known[name], own), {"own_init": staticmethod(own.__init__)})  # type: ignore[misc]
        namespace[name] = known[name]
