"""Each known mistake is found by what it computes, alone, and told in words that a student can use."""

from __future__ import annotations

import itertools
import math
import re
import textwrap

import pytest
import torch
from torch import Tensor

from autograder.assignment import mistakes
from autograder.assignment.mistakes import MISTAKES, Mistake
from autograder.assignment.oracle import diagnose, parameter_count
from autograder.assignment.oracle.variants import Steps
from autograder.grading.verdict import Failed
from tests.reading import LINES, SOLUTION, WIDTH

D, H, V, T_MAX, B, T, L = 20, 4, 11, 9, 2, 7, 3
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
VARIANTS = [(row, variant) for row in MISTAKES for variant in row.variants if not row.accepted]
DIFFERS = "With the same weights, the output is off by up to 100% of its maximum, from position 0 on."
PAIRS = [
    (("scale_sqrt_d", "sqrt_d"), ("projection_relu", "relu")),
    (("value_is_key", "k"), ("mask_off_by_one", "off_by_one")),
    (("mlp_relu", "relu"), ("mlp_adds_input", "input")),
    (("block_parallel", "parallel"), ("norm_unbiased", "unbiased")),
    (("embedding_scaled", "scaled"), ("final_norm_first", "first")),
]


def question(component: str, steps: Steps) -> diagnose.Query:
    """What a class with these mistakes would be asked about: random weights, and what it then computes."""
    torch.manual_seed(1)
    tensors = [torch.randn(shape, dtype=torch.float64) / (8 if len(shape) > 1 else 2) for _, shape in SHAPES[component]]
    flat = torch.cat([*(t.reshape(-1) for t in tensors), torch.tensor([0.0, 1.0])])
    probes = {name: torch.randn(D, D, dtype=torch.float64) / math.sqrt(D) for name in ("attention", "mlp", "block")}
    asked = diagnose.Query(SHAPES[component], flat, [], SIZES[component], probes, 1e-9)
    for shape in ((B, T), (1, 1)) if component == "attention" else ((B, T), (1, T_MAX - 1)):
        x = torch.randint(V, shape) if component == "model" else torch.randn(*shape, D, dtype=torch.float64)
        asked.cases.append((x, computed(component, asked, steps, x)))
    return asked


def computed(component: str, asked: diagnose.Query, steps: Steps, x: Tensor) -> Tensor:
    """The oracle's own answer under the layout that the shapes above are meant to have."""
    right = next(iter(diagnose._COMPONENTS[kind(component)][1](asked)))
    return right.func(x, **{**right.keywords, "steps": steps})  # type: ignore[attr-defined,no-any-return]


def kind(component: str) -> str:
    return "block" if component == "norm" else component


@pytest.mark.parametrize(("row", "variant"), VARIANTS, ids=lambda value: getattr(value, "name", value))
def test_each_variant_is_told_apart_from_all_others(row: Mistake, variant: str) -> None:
    asked = question(row.component, {row.step: variant})
    with torch.no_grad():
        found, nearest = diagnose.explain(kind(row.component), asked)
    assert [set(match.mistakes) for match in found] == [{row.name}]
    assert nearest is not None
    assert nearest.gap > 1e-4


@pytest.mark.parametrize("pair", PAIRS, ids=lambda pair: "+".join(name for name, _ in pair))
def test_two_at_once_are_found(pair: tuple[tuple[str, str], tuple[str, str]]) -> None:
    rows = [mistakes.named(name) for name, _ in pair]
    component = next((row.component for row in rows if row.component != "norm"), "norm")
    asked = question(component, {row.step: way for row, (_, way) in zip(rows, pair, strict=True)})
    with torch.no_grad():
        found, _ = diagnose.explain(kind(component), asked)
    assert [set(match.mistakes) for match in found] == [{row.name for row in rows}]


@pytest.mark.parametrize("component", ["attention", "mlp", "block", "model"])
def test_what_is_right_and_what_nobody_knows(component: str) -> None:
    asked = question(component, {})
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
    asked = question("attention", {"scale": "sqrt_d", "project": "relu"})
    monkeypatch.setattr(diagnose, "MAX_COMPARISONS", 50)
    with torch.no_grad():
        found, nearest = diagnose.explain("attention", asked)
    assert not found
    assert nearest is not None
    assert asked.tried == [51]


def test_rows_have_names_and_words_of_their_own() -> None:
    assert len({row.name for row in MISTAKES}) == len(MISTAKES)
    assert len({row.sentence for row in MISTAKES}) == len(MISTAKES)
    reproduced = [(kind(row.component), row.step, variant) for row in MISTAKES for variant in row.variants]
    assert len(set(reproduced)) == len(reproduced)
    for row in MISTAKES:
        assert row.sentence[-1] in ".?"
        assert not re.search(r"[.?] \(", row.full_text)
        assert bool(row.step) == bool(row.variants)
        assert bool(row.look) != row.accepted
        compared = row.component in (*SIZES, "any")
        whole = f"{DIFFERS} {row.full_text} Everything else is correct." if compared else row.full_text
        assert len(textwrap.wrap(whole, WIDTH)) <= (LINES if compared else LINES - 1), whole
        assert not any(line in row.full_text.replace(" ", "") for line in SOLUTION)


def test_the_task_stands_before_the_last_sign() -> None:
    rows = [row for row in MISTAKES if row.component == "attention" and not row.accepted]
    for causes in (rows[:1], rows[1:3]):
        for either in (False, True):
            said = str(Failed("Seen.", "Go on.", causes, either))
            assert re.search(r"[\w)] \((on paper|tasks?) [^)]*\)[.?] Go on\.$", said), said


def test_every_cause_of_a_count_is_a_row() -> None:
    for cause in parameter_count.CAUSES:
        assert mistakes.named(cause.name).sentence
    for one, other in itertools.combinations(parameter_count.CAUSES, 2):
        assert (one.name, one.part) != (other.name, other.part) or one.delta is not other.delta
