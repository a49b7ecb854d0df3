"""Test messages for exceptions in student code: the student's line, the exception, and any usual cause."""

from __future__ import annotations

import textwrap

import numpy as np
import pytest

from autograder.assignment.mistakes import EXCEPTIONS, named
from autograder.grading import exceptions
from autograder.grading.verdict import explain_error
from autograder.sandbox.remote.errors import Raised
from tests.conftest import Hand
from tests.reading import LINES, WIDTH

X = np.ones((2, 7, 20), np.float32)
IDX = np.zeros((2, 7), np.int64)
HEADER = "import torch\nfrom torch import nn\nfrom torch.nn import functional as F\n\n\n"

# The constructor's body, forward's body, the input, the expected cause, and text in the message.
CASES = {
    "two shapes": ("self.up = nn.Linear(5, 20)", "return self.up(x)", X, "", "20 features; the weight expects 5"),
    "a product": ("", "q, k = x, x\n        return q @ k", X, "", "Here q is (2, 7, 20) and k is (2, 7, 20)"),
    "a mask too large": (
        'self.register_buffer("past", torch.ones(9, 9).tril())',
        "scores = x @ x.mT\n        return scores.masked_fill(self.past == 0, 0)",
        X,
        "",
        "scores is (2, 7, 7) and self.past is (9, 9)",
    ),
    "d / H in a layer": ("self.up = nn.Linear(20, 20 / 4)", "return x", X, "size_is_float", "// gives an int"),
    "d / H in a view": ("", "return x.view(2, 7, 4, 20 / 4)", X, "size_is_float", "// gives an int"),
    "d / H in a range": ("", "return [x for _ in range(20 / 4)]", X, "size_is_float", "// gives an int"),
    "a GPU": ("", 'return x.to("cuda")', X, "device_hard_coded", "asks for a GPU"),
    "a thread": (
        "",
        "import threading; threading.Thread(target=print).start()",
        X,
        "sandbox_denies_threads",
        "sandbox",
    ),
    "a folder": ("", 'import os; os.makedirs("runs")', X, "sandbox_denies_files", "sandbox"),
    "a typo": ("self.proj = nn.Linear(20, 20)", "return self.porj(x)", X, "undefined_attribute", "Did you mean proj?"),
    "another typo": ("", "values = x\n        return value", X, "undefined_name", "Did you mean values?"),
    "a list that is called": (
        "self.blocks = [nn.Linear(20, 20)]",
        "return self.blocks(x)",
        X,
        "list_called",
        "a list of modules is not a module",
    ),
    "a ModuleList that is called": (
        "self.blocks = nn.ModuleList([nn.Linear(20, 20)])",
        "return self.blocks(x)",
        X,
        "module_list_called",
        "it only holds modules",
    ),
    "a list in Sequential": (
        "self.net = nn.Sequential([nn.GELU()])",
        "return x",
        X,
        "sequential_of_list",
        "one by one",
    ),
    "nothing returned": (
        "",
        "y = print()\n        return x + y",
        X,
        "result_is_none",
        "a function that returns nothing",
    ),
    "a view after a transpose": ("", "return x.mT.view(2, -1)", X, "view_non_contiguous", "reshape copies"),
    "a layer not called": (
        "self.up = nn.Linear(20, 20)",
        "return F.gelu(self.up)",
        X,
        "module_used_as_tensor",
        "call it on its input",
    ),
    "a layer added": (
        "self.up = nn.Linear(20, 20)",
        "return x + self.up",
        X,
        "module_used_as_tensor",
        "call it on its input",
    ),
    "an activation not called": (
        "",
        "return F.softmax(nn.GELU(x), -1)",
        X,
        "module_used_as_tensor",
        "call it on its input",
    ),
    "heads not called": (
        "self.heads = nn.ModuleList([nn.Linear(20, 20)])",
        "return torch.cat(self.heads, dim=-1)",
        X,
        "module_used_as_tensor",
        "call it on its input",
    ),
    "two precisions": (
        "",
        "return F.scaled_dot_product_attention(x, x, x, attn_mask=torch.ones(7, 7).double())",
        X,
        "dtype_mismatch",
        "different dtypes",
    ),
    "a product of two precisions": ("", "return x @ x.mT.double()", X, "dtype_mismatch", "different dtypes"),
    "a token too large": (
        "self.tok = nn.Embedding(5, 3)",
        "return self.tok(x + 5)",
        IDX,
        "index_out_of_range",
        "last row",
    ),
    "classes in the last axis": (
        "",
        "return F.cross_entropy(torch.ones(2, 7, 11), x)",
        IDX,
        "loss_class_axis",
        "classes on dim=1",
    ),
    "forward without end": ("", "return self(x)", X, "infinite_recursion", "infinite recursion"),
}


def failing(hand_in: Hand, text: str, given: np.ndarray = X) -> Raised:
    """Return the exception raised by building and calling the class."""
    with pytest.raises(Raised) as error:
        hand_in(HEADER + text).build("Part", {})(given)
    return error.value


@pytest.mark.parametrize("case", CASES)
def test_the_usual_ones_are_told_with_their_cause(hand_in: Hand, case: str) -> None:
    constructor, forward, given, name, words = CASES[case]
    text = (
        "class Part(nn.Module):\n    def __init__(self):\n        super().__init__()\n"
        f"        {constructor or 'pass'}\n\n    def forward(self, x):\n        {forward}\n"
    )
    error = failing(hand_in, text, given)
    told = explain_error(error, ("Part",), EXCEPTIONS)
    assert [mistake for mistake, _ in told.diagnosis] == ([name] if name else [])
    assert words.casefold() in told.message.casefold()
    assert error.remote.frames[-1].line > 5
    assert len(textwrap.wrap(told.message, WIDTH)) <= LINES, told.message


def test_an_attribute_that_a_class_of_ones_own_forgot_is_no_module_that_was_not_called(hand_in: Hand) -> None:
    for name in ("dim", "size", "T"):
        text = f"class MLP(nn.Module):\n    def forward(self, x):\n        return x * self.{name}\n\nPart = MLP\n"
        assert exceptions.find_cause(failing(hand_in, text).remote, EXCEPTIONS) == named("undefined_attribute")


def test_a_missing_super_init_is_told(hand_in: Hand) -> None:
    for line in ("self.up = nn.Linear(2, 2)", "self.up = nn.Parameter(torch.ones(2))"):
        error = failing(hand_in, f"class Part(nn.Module):\n    def __init__(self):\n        {line}\n")
        assert exceptions.find_cause(error.remote, EXCEPTIONS) == named("super_init_missing")
        assert error.remote.frames[-1].text == line


def test_a_module_without_forward_is_not_taken_for_a_stub(hand_in: Hand) -> None:
    text = """
class Part(nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = Inner()

    def forward(self, x):
        return self.inner(x)


class Inner(nn.Module):
    def foward(self, x):
        return x
"""
    told = explain_error(failing(hand_in, text), ("Part",), EXCEPTIONS)
    assert told.status == "failed"
    assert [name for name, _ in told.diagnosis] == ["forward_missing"]


def test_what_nobody_knows_is_told_as_it_came(hand_in: Hand) -> None:
    error = failing(
        hand_in, "class Part(nn.Module):\n    def forward(self, x):\n        raise ValueError('not today')\n"
    )
    assert exceptions.find_cause(error.remote, EXCEPTIONS) is None
    assert exceptions.format_exception(error) == ("Part.forward(shape (2, 7, 20)) raised ValueError: not today.")


def test_long_texts_and_lines_are_cut(hand_in: Hand) -> None:
    line = f"raise RuntimeError('{'x' * 3000}')"
    told = exceptions.format_exception(
        failing(hand_in, f"class Part(nn.Module):\n    def forward(self, x):\n        {line}\n")
    )
    assert len(told) < 320
