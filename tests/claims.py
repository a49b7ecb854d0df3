"""Provide source text that makes a worker send arbitrary replies, which the grader must survive.

``lying`` makes one operation send odd replies; ``lying_plausibly`` makes a single change in each of a few correct
replies.
"""

from __future__ import annotations

import ast

from tests.conftest import ROOT

COUNT = 40  # approximate number of odd replies

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
PLAUSIBLE = """

import gc
import random
import numpy as np

rng = random.Random(SEED)
lies = set(rng.sample(range(ANSWERS), LIES))
answered = 0
NAN, INF = float("nan"), float("inf")


def of_number(value):
    others = (0, 0, 1, -1, True, 0.5, NAN, -INF, 1e16, 1 << 31, 1 << 63, 10**400, None, "7", [value], np.array(value))
    return rng.choice([*others, value + 1, value * 2, -value, np.array([value])])


def of_array(value):
    one = value.copy()
    if one.size:
        one.flat[rng.randrange(one.size)] = rng.choice([NAN, INF, 1e30] if one.dtype.kind == "f" else [-1, 1 << 40])
    others = (one, value[..., None], value[:0], value.T, value.reshape(-1), np.zeros_like(value), value * 0 + 1)
    others += (value.astype(np.int64), value.astype(np.float64) * 1e300, value.astype(np.float32) * 1e30, np.array(7.0))
    others += (None, 7, "text", value.reshape(-1)[:9].tolist(), [value], {"logits": value}, (value, None))
    others += (one[..., :-1], one[:1], one.astype(np.uint8))
    return rng.choice(others)


def of_list(value):
    others = (value[:-1], [*value, *value[-1:]], list(value)[::-1], value * 3, [], None, tuple(value))
    return rng.choice([*others, dict(enumerate(value)), value[0] if value else 7, [value], "text"])


def of_dict(value):
    some = dict(value)
    if some:
        key = rng.choice(list(some))
        some[rng.choice([None, 7, "x", key + "x" if isinstance(key, str) else 0])] = some.pop(key)
    return rng.choice([some, {**value, "extra": 1}, {}, None, list(value.items()), list(value.values()), 7])


def paths(value):
    \"\"\"The way to each thing in an answer.\"\"\"
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, (list, tuple)) else ()
    below = [(key, *path) for key, item in items for path in paths(item)]
    return below or [()]


def changed(value, path):
    \"\"\"The answer with what is at the end of a path replaced.\"\"\"
    if path and isinstance(value, dict):
        return {**value, path[0]: changed(value[path[0]], path[1:])}
    if path:
        return type(value)(changed(item, path[1:]) if n == path[0] else item for n, item in enumerate(value))
    value = value.detach().numpy() if hasattr(value, "detach") else value
    for kinds, of in (((int, float), of_number), (np.ndarray, of_array), ((list, tuple), of_list), (dict, of_dict)):
        if isinstance(value, kinds):
            return of(value)
    return rng.choice([None, "", "x" * 5000, 7, NAN, [], {}, np.zeros((2, 0))])


def liar(honest):
    def operation(self, *arguments, **named):
        global answered
        answer = honest(self, *arguments, **named)
        answered += answer is not None
        if answer is None or answered not in lies:
            return answer
        path = rng.choice(paths(answer))
        return changed(answer, path[: rng.randint(0, 3 * len(path))])  # mostly all the way down
    return operation


for thing in gc.get_objects():
    if type(thing).__name__ == "Worker":
        for name, value in list(vars(type(thing)).items()):
            if name.startswith("do_"):
                setattr(type(thing), name, liar(value))
"""
MOST_LIES, ANSWERS = 60, 140  # approximate number of replies from a correct submission in one grading

# The criteria that use each operation.
OPERATIONS = {
    "build": ["mlp", "parameters", "initial_loss", "bonus"],
    "push": ["mlp"],
    "pull": ["initial_loss", "model", "bonus"],
    "call": ["attention", "model", "causality", "generation"],
    "call_function": ["shapes", "bonus", "paper"],
    "call_with_module": ["verification"],
    "compute_gradients": ["model"],
    "train": ["model"],
    "trace": ["shapes"],
    "record_inputs": ["generation"],
    "count_stub_calls": ["block"],
    "use_stubs": ["block"],
    "stub_parts": ["block"],
    "accepts": ["bonus"],
    "list_constructor_calls": ["block"],
    "use_parts": ["shapes"],
    "forget": ["mlp"],
    "load": ["mlp"],
}
# Some operations are used only if something else is wrong.
FIRST = {
    "record_inputs": "GPT.generate = lambda self, idx, new: 1 / 0",
    "stub_parts": "Block.forward = lambda self, x: x",
    "use_parts": "MLP.forward = lambda self, x: 1 / 0",
}


def lying(operation: str, start: int = 0) -> bytes:
    """Return text to append to a correct gpt.py, so that ``operation`` sends odd replies from number ``start`` on."""
    text = ODD.replace("OPERATION", operation).replace("START", str(start))
    return f"\n\n{FIRST.get(operation, '')}{text}".encode()


def lying_plausibly(seed: int, lies: int) -> bytes:
    """Return text to append to a correct gpt.py, so that ``lies`` of its replies have one change each."""
    text = PLAUSIBLE.replace("SEED", str(seed)).replace("LIES", str(lies)).replace("ANSWERS", str(ANSWERS))
    return text.encode()


def of_the_worker() -> set[str]:
    """Return the operations that the worker really has."""
    tree = ast.parse((ROOT / "autograder" / "sandbox" / "remote" / "worker.py").read_text("utf-8"))
    (worker,) = (node for node in tree.body if isinstance(node, ast.ClassDef) and node.name == "Worker")
    return {node.name.removeprefix("do_") for node in worker.body if getattr(node, "name", "").startswith("do_")}
