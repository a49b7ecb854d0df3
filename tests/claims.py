"""Source text after which one operation of the worker answers whatever it likes, for a grader that has to bear it."""

from __future__ import annotations

import ast

from tests.conftest import ROOT

COUNT = 40  # odd answers, about

ODD = """

import gc
import itertools
import numpy as np


def odd():
    nan, inf = float("nan"), float("inf")
    claim = {"names": ["w"], "shapes": [[3, 3]], "frozen": [], "masks": [], "owners": {}}
    while True:
        yield from (None, 7, -1, nan, inf, 10 ** 400, "text", [], {}, [1, "a", None], (), np.zeros(3), np.zeros(()))
        yield from ({"a": 1}, {1: {}}, [[1, 2], [nan, "b"]], {"output": None}, {"blocks": [7], "output": 0})
        yield from ({"blocks": [[1e9, nan]], "output": np.zeros(0)}, [nan] * 100, {"w": np.zeros((0, 0))})
        for shape in ([-1], [1 << 70], ["x"], [[3]], [nan], [1] * 100, [1 << 61, 4], [0], [0, 24], None, 3):
            yield {"parameters": claim | {"shapes": [shape]}, "methods": ["forward"], "module": True}
        for wrong in ({"shapes": []}, {"frozen": [[]]}, {"masks": [[]]}, {"owners": [3]}, {"owners": {"w": []}}):
            yield {"parameters": claim | wrong, "methods": ["forward"], "module": True}
        many = {"names": ["w"] * 5000, "shapes": [[3, 3]] * 5000}
        yield {"parameters": claim | many, "methods": ["generate"], "module": True}
        yield {"parameters": claim | {"names": [None]}, "methods": None, "module": np.zeros(2)}
        yield {"defined": {"GPT": (1, [])}, "troubles": [{"names": 7, "raised": 7}]}
        yield {"defined": {"GPT": (inf, [])}, "troubles": []}
        yield {name: (1, []) for name in ("MLP", "GPT")}
        yield from ([np.full((4, 9), -1)], np.full((4, 9), 1 << 62))
        yield from (np.full((2, 7, 11), inf), np.full((2, 7, 24), 1e308))


values = itertools.islice(odd(), START, None)
for thing in gc.get_objects():
    if type(thing).__name__ == "Worker":
        setattr(type(thing), "do_OPERATION", lambda self, *arguments, **named: next(values))
"""
# Which criteria ask for it.
OPERATIONS = {
    "build": ["mlp", "parameters", "initial_loss", "bonus"],
    "push": ["mlp"],
    "pull": ["initial_loss", "model", "bonus"],
    "call": ["attention", "model", "causality", "generation"],
    "function": ["shapes", "bonus", "paper"],
    "gradients": ["model"],
    "train": ["model"],
    "trace": ["shapes"],
    "spy": ["generation"],
    "trial": ["block"],
    "stand_in": ["block"],
    "stand_in_children": ["block"],
    "accepts": ["bonus"],
    "forget": ["mlp"],
    "load": ["mlp"],
}
# Some are asked for only where something else is wrong.
FIRST = {
    "spy": "GPT.generate = lambda self, idx, new: 1 / 0",
    "stand_in_children": "Block.forward = lambda self, x: x",
}


def lying(operation: str, start: int = 0) -> bytes:
    """What to put after a right gpt.py, so that ``operation`` gives odd answers from number ``start`` on."""
    text = ODD.replace("OPERATION", operation).replace("START", str(start))
    return f"\n\n{FIRST.get(operation, '')}{text}".encode()


def of_the_worker() -> set[str]:
    """The operations that the worker really has."""
    tree = ast.parse((ROOT / "autograder" / "sandbox" / "worker.py").read_text("utf-8"))
    (worker,) = (node for node in tree.body if isinstance(node, ast.ClassDef) and node.name == "Worker")
    return {node.name.removeprefix("do_") for node in worker.body if getattr(node, "name", "").startswith("do_")}
