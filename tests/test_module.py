"""Test that a student's object lives in one process: it is built, filled, called, stubbed, shared, and gone with it."""

from __future__ import annotations

import numpy as np
import pytest

from autograder.sandbox.remote.client import Zygote
from autograder.sandbox.remote.errors import Crashed, Raised
from tests.conftest import Hand, run
from tests.processes import living


def test_a_module_is_built_filled_called_and_read(hand_in: Hand) -> None:
    student = hand_in("""
        from torch import nn
        class Block(nn.Module):
            def __init__(self, d, H):
                super().__init__()
                self.map = nn.Linear(d, H, bias=False)
            def forward(self, x): return self.map(x)
    """)
    block = student.build("Block", {"d": 3, "H": 2})
    assert [(p.name, p.shape, p.grad) for p in block.parameters] == [("map.weight", (2, 3), True)]
    weights = np.arange(6.0, dtype=np.float32).reshape(2, 3)
    block.push({"map.weight": weights})
    assert np.array_equal(block.pull()["map.weight"], weights)
    assert np.array_equal(block(np.ones((1, 3), np.float32)), [[3.0, 12.0]])


def test_what_is_pushed_is_there_at_the_next_call_and_fails_there(hand_in: Hand) -> None:
    student = hand_in("""
        from torch import nn
        class MLP(nn.Linear):
            def __init__(self, d): super().__init__(d, d, bias=False)
        def run(): exit()
    """)
    first, second = student.build("MLP", {"d": 1}), student.build("MLP", {"d": 1})
    x = np.ones((1, 1), np.float32)
    first.push({"weight": 2 * x})
    second.push({"weight": 3 * x})
    second.push({"weight": 4 * x})
    assert (first(x), second(x)) == (2, 4)
    second.push({"bias": x})
    with pytest.raises(Raised, match="KeyError: 'bias'"):
        first(x)
    assert first(x) == 2  # a failed operation is not repeated
    first.push({"weight": x})
    student.close()
    assert student.build("MLP", {"d": 1})(x).shape == (1, 1)  # nor is an operation queued for a process that has ended


def test_an_object_is_gone_with_its_process(hand_in: Hand) -> None:
    student = hand_in("""
        import os, torch
        class GPT(torch.nn.Module):
            def __init__(self, d): super().__init__()
            def end(self): os._exit(1)
    """)
    model = student.build("GPT", {"d": 1})
    for _ in range(2):
        with pytest.raises(Crashed):
            model.method("end")
    assert student.build("GPT", {"d": 1}).parameters == ()


PARTS = """
    import torch
    from torch import nn
    calls = 0
    class Own(nn.Module):
        def __init__(self, d): super().__init__(); self.scale = nn.Parameter(torch.ones(d))
        def forward(self, x): return 3 * x
    class Inherits(Own): pass
    class Unbuildable(nn.Module):
        def __init__(self, d): raise ValueError("not today")
    def run():
        global calls
        calls += 1
        return calls
    def known():
        return sorted(name for name, value in globals().items() if isinstance(value, type))
"""


def test_stand_ins_are_in_force_until_release_and_leave_no_trace(hand_in: Hand) -> None:
    student, x = hand_in(PARTS), np.ones((1, 2), np.float32)
    run(student)
    names = ("Inherits", "Own", "Unbuildable", "Missing")
    probes = {name: 7 * np.eye(2) for name in names}
    for _ in range(2):
        student.use_stubs(probes, ["Unbuildable", "Missing"])
        student.use_stubs(probes, ["Unbuildable", "Missing"])  # on top of the first ones
        assert [student.build(name, {"d": 2})(x)[0, 0] for name in names[:3]] == [7, 7, 7]
        student.release()
        assert [student.build(name, {"d": 2})(x)[0, 0] for name in names[:2]] == [3, 3]
        with pytest.raises(Raised, match="not today"):
            student.build("Unbuildable", {"d": 2})
        assert run(student, name="known") == ["Inherits", "Own", "Unbuildable"]
    assert run(student) == 2  # it is still the same process


def test_what_is_shared_is_built_once_and_outlives_release_but_not_stand_ins(hand_in: Hand) -> None:
    student = hand_in(PARTS)
    kept, other = student.shared("Own", {"d": 2}), student.build("Own", {"d": 2})
    student.release()
    assert student.shared("Own", {"d": 2}) is kept
    assert student.shared("Own", {"d": 3}) is not kept
    assert kept.pull()["scale"].sum() == 2
    with pytest.raises(Raised, match="KeyError"):
        other.pull()
    student.use_stubs({"Own": np.eye(2)})
    student.release()
    assert student.shared("Own", {"d": 2}) is not kept
    student.close()
    assert student.shared("Own", {"d": 2}).pull()["scale"].sum() == 2


def test_the_witness_is_a_second_process_that_stays(hand_in: Hand, zygote: Zygote) -> None:
    student, before = hand_in(PARTS), living(zygote.pid)
    assert [run(student), run(student), run(student.replica), run(student)] == [1, 2, 1, 3]
    student.release()
    assert run(student.replica) == 2
    assert len(living(zygote.pid) - before) == 2
    student.close()
    assert living(zygote.pid) == before
