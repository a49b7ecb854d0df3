"""Test that each known mistake is identified by its outputs, alone, with a message that helps a student."""

from __future__ import annotations

import ast
import math
import re
import subprocess
import sys
import textwrap
from types import ModuleType

import pytest
import torch
from torch import Tensor

from autograder.assignment import mistakes
from autograder.assignment.mistakes import MISTAKES, Mistake
from autograder.assignment.oracle import diagnose
from autograder.assignment.oracle.model import RIGHT, Steps, combine
from autograder.grading.verdict import Failed
from tests.conftest import ROOT
from tests.reading import LINES, SOLUTION, WIDTH

PACKAGE = ROOT / "autograder"
D, H, V, T_MAX, B, T, L = 44, 4, 11, 9, 2, 7, 3
SIZES = {
    "attention": {"d": D, "H": H},
    "mlp": {"d": D},
    "block": {"d": D},
    "norm": {"d": D},
    "model": {"V": V, "T_max": T_MAX, "d": D, "H": H, "L": L, "blocks": L},
}
SHAPES: dict[str, list[tuple[str, tuple[int, ...]]]] = {
    "attention": [
        *((f"heads.{h}.{role}", (D // H, D)) for h in range(H) for role in ("query", "key", "value")),
        ("proj.weight", (D, D)),
        ("proj.bias", (D,)),
    ],
    "mlp": [("up.weight", (4 * D, D)), ("up.bias", (4 * D,)), ("down.weight", (D, 4 * D)), ("down.bias", (D,))],
    "block": [(f"{norm}.{part}", (D,)) for norm in ("ln1", "ln2") for part in ("weight", "bias")],
    "model": [("tok", (V, D)), ("pos", (T_MAX, D)), ("norm.weight", (D,)), ("norm.bias", (D,)), ("head", (V, D))],
}
SHAPES["norm"] = SHAPES["block"]
VARIANTS = [(row, number) for row in MISTAKES for number in range(len(row.steps))]
DIFFERS = "With the same weights, the output is off by up to 100% of its maximum, from position 0 on."
PAIRS = [
    (mistakes.attention.SCALE_SQRT_D, mistakes.attention.PROJECTION_RELU),
    (mistakes.attention.VALUE_IS_KEY, mistakes.attention.MASK_OFF_BY_ONE),
    (mistakes.attention.MASK_AFTER_SOFTMAX, mistakes.attention.SCALE_AFTER_SOFTMAX),
    (mistakes.mlp.MLP_RELU, mistakes.mlp.MLP_ADDS_INPUT),
    (mistakes.block.BLOCK_PARALLEL, mistakes.norm.NORM_UNBIASED),
    (mistakes.model.EMBEDDING_SCALED, mistakes.model.FINAL_NORM_FIRST),
]


def question(component: str, steps: Steps) -> diagnose.Query:
    """Return random weights, and the outputs that a class with these mistakes computes with them."""
    torch.manual_seed(1)
    tensors = [torch.randn(shape, dtype=torch.float64) / (8 if len(shape) > 1 else 2) for _, shape in SHAPES[component]]
    flat = torch.cat([*(t.reshape(-1) for t in tensors), torch.tensor([0.0, 1.0])])
    probes = {name: torch.randn(D, D, dtype=torch.float64) / math.sqrt(D) for name in ("attention", "mlp")}
    probes["block"] = torch.randn(L, D, D, dtype=torch.float64) / math.sqrt(D)  # one for each block
    asked = diagnose.Query(SHAPES[component], flat, [], SIZES[component], probes, 1e-9)
    for shape in ((B, T), (1, 1)) if component == "attention" else ((B, T), (1, T_MAX - 1)):
        x = torch.randint(V, shape) if component == "model" else torch.randn(*shape, D, dtype=torch.float64)
        asked.cases.append((x, computed(component, asked, steps, x)))
    return asked


def computed(component: str, asked: diagnose.Query, steps: Steps, x: Tensor) -> Tensor:
    """Return the oracle's own answer under the intended layout of the shapes above."""
    right = next(iter(diagnose._COMPONENTS[kind(component)][1](asked)))
    return right.func(x, **{**right.keywords, "steps": steps})  # type: ignore[attr-defined,no-any-return]


def kind(component: str) -> str:
    return "block" if component == "norm" else component


@pytest.mark.parametrize(("row", "number"), VARIANTS, ids=lambda value: getattr(value, "name", value))
def test_each_wrong_model_differs_from_the_correct_one(row: Mistake, number: int) -> None:
    asked = question(row.component, row.steps[number])
    with torch.no_grad():
        gaps = [float((computed(row.component, asked, RIGHT, x) - y).abs().max()) for x, y in asked.cases]
    assert max(gaps) > (1e-9 if row.accepted else 1e-4)


def test_a_step_that_the_model_does_not_have_is_an_error() -> None:
    with pytest.raises(TypeError, match="scal"):
        Steps(scal=lambda q, d: 1.0)  # type: ignore[call-arg]


@pytest.mark.parametrize(
    ("row", "number"),
    [(row, number) for row, number in VARIANTS if not row.accepted],
    ids=lambda value: getattr(value, "name", value),
)
def test_each_variant_is_told_apart_from_all_others(row: Mistake, number: int) -> None:
    asked = question(row.component, row.steps[number])
    with torch.no_grad():
        found, nearest = diagnose.explain(kind(row.component), asked)
    assert [set(match.mistakes) for match in found] == [{row}]
    assert nearest is not None
    assert nearest.gap > 1e-4


@pytest.mark.parametrize("pair", PAIRS, ids=lambda pair: "+".join(row.name for row in pair))
def test_two_at_once_are_found(pair: tuple[Mistake, Mistake]) -> None:
    component = next((row.component for row in pair if row.component != "norm"), "norm")
    asked = question(component, combine(row.steps[0] for row in pair))
    with torch.no_grad():
        found, _ = diagnose.explain(kind(component), asked)
    assert [set(match.mistakes) for match in found] == [set(pair)]


@pytest.mark.parametrize("component", ["attention", "mlp", "block", "model"])
def test_what_is_right_and_what_nobody_knows(component: str) -> None:
    asked = question(component, RIGHT)
    with torch.no_grad():
        found, nearest = diagnose.explain(component, asked)
        assert [match.mistakes for match in found] == [()]
        assert nearest is None
        x, y = asked.cases[0]
        odd = y.clone()
        odd[:, 3:] += torch.linspace(0.1, 1, y.shape[-1], dtype=torch.float64)
        asked.cases[0] = (x, odd)
        found, nearest = diagnose.explain(component, asked)
    assert not found
    assert nearest is not None
    assert nearest.position == 3
    assert nearest.gap == pytest.approx(1 / max(1.0, float(odd.abs().max())))
    assert nearest.alone == (component == "attention")


def test_the_search_ends_after_so_many_comparisons(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = question("attention", combine(row.steps[0] for row in PAIRS[0]))
    monkeypatch.setattr(diagnose, "MAX_COMPARISONS", 50)
    with torch.no_grad():
        found, nearest = diagnose.explain("attention", asked)
    assert not found
    assert nearest is not None
    assert asked.tried == [51]


def test_rows_have_names_and_words_of_their_own() -> None:
    assert len({row.name for row in MISTAKES}) == len(MISTAKES)
    assert len({row.sentence for row in MISTAKES}) == len(MISTAKES)
    for row in MISTAKES:
        assert row.sentence[-1] in ".?"
        assert not re.search(r"[.?] \(", row.full_text)
        assert bool(row.look) != row.accepted
        compared = row.component in (*SIZES, "any")
        whole = f"{DIFFERS} {row.full_text} Everything else in the class is correct." if compared else row.full_text
        assert len(textwrap.wrap(whole, WIDTH)) <= (LINES if compared else LINES - 1), whole
        assert not any(line in row.full_text.replace(" ", "") for line in SOLUTION)


def test_the_task_stands_before_the_last_sign() -> None:
    rows = [row for row in MISTAKES if row.component == "attention" and not row.accepted]
    for causes in (rows[:1], rows[1:3]):
        for either in (False, True):
            said = str(Failed("Seen.", "Go on.", causes, either))
            assert re.search(r"[\w)] \((on paper|tasks?) [^)]*\)[.?] Go on\.$", said), said


def test_the_name_of_a_mistake_is_a_string_in_its_row_alone() -> None:
    rows = PACKAGE / "assignment" / "mistakes"
    names = {row.name for row in MISTAKES}
    found = [
        (node.value, path.parent == rows)
        for path in PACKAGE.rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text("utf-8")))
        if isinstance(node, ast.Constant) and node.value in names
    ]
    assert sorted(found) == [(name, True) for name in sorted(names)]


def test_a_row_is_the_constant_of_its_name() -> None:
    for part in vars(mistakes).values():
        for constant, row in vars(part).items() if isinstance(part, ModuleType) else ():
            assert not isinstance(row, Mistake) or constant == row.name.upper().replace("-", "_")


def test_the_rows_import_without_torch() -> None:
    code = "import sys, autograder.assignment.mistakes; print('torch' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout == "False\n"
