"""Test that the oracle's model computes the same numbers as the reference, and that its parameter counts are right."""

from __future__ import annotations

import importlib
import os
import signal
import sys
from collections.abc import Callable, Iterator
from types import ModuleType
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from autograder.assignment import ASSIGNMENT, mistakes
from autograder.assignment.mistakes import MISTAKES, Mistake
from autograder.assignment.mistakes.row import CountChange
from autograder.assignment.oracle import diagnose, parameter_count
from autograder.assignment.oracle import model as oracle
from autograder.assignment.oracle.client import Findings, Oracle
from autograder.assignment.sizes import SIZES, Dims
from autograder.sandbox.remote import oracle_process
from autograder.sandbox.remote.client import SandboxError, Zygote
from autograder.sandbox.remote.oracle_process import SUBMISSION_CPU, OracleProcess
from tests.conftest import ROOT

DIMS = [SIZES.course, SIZES.small, *SIZES.others, Dims(V=5, T_max=3, d=6, H=6, L=1)]


@pytest.fixture(scope="module")
def reference() -> Iterator[ModuleType]:
    """Yield reference/gpt.py, then remove it from sys.modules, since a student's files have the same names."""
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(ROOT / "reference"))
        for name in ("head", "gpt"):
            patch.delitem(sys.modules, name, raising=False)
        module = importlib.import_module("gpt")
        for name in ("head", "gpt"):
            del sys.modules[name]
        yield module


def filled(reference: ModuleType, dims: Dims) -> torch.nn.Module:
    """Return a reference model in float64 with random parameters, including gains and biases."""
    torch.manual_seed(3)
    model = reference.GPT(**dims.arguments()).double()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.normal_(std=0.4)
    return model


def translated(model: torch.nn.Module) -> oracle.Weights:
    """Return the reference's tensors by the oracle's names; nn.Linear stores the transposed matrix."""
    own = {name: value.detach() for name, value in model.named_parameters()}
    w = {"tok": own["tok_emb.weight"], "pos": own["pos_emb.weight"], "head": own["lm_head.weight"].T}
    w |= {"ln_f.gain": own["ln_f.weight"], "ln_f.bias": own["ln_f.bias"]}
    for at, block in enumerate(model.blocks):
        inside = {name: value.detach() for name, value in block.named_parameters()}
        for letter, part in (("q", "query"), ("k", "key"), ("v", "value")):
            heads = [getattr(head, part).weight.detach().T for head in block.attn.heads]
            w[f"{at}.{letter}"] = torch.stack(heads)  # (H, d, d_head)
        w[f"{at}.o"] = inside["attn.proj.weight"].T.unflatten(0, (len(heads), -1))  # (H, d_head, d)
        w[f"{at}.o.bias"] = inside["attn.proj.bias"]
        for part in ("up", "down"):
            w |= {f"{at}.{part}": inside[f"mlp.{part}.weight"].T, f"{at}.{part}.bias": inside[f"mlp.{part}.bias"]}
        for norm in ("ln1", "ln2"):
            w |= {f"{at}.{norm}.gain": inside[f"{norm}.weight"], f"{at}.{norm}.bias": inside[f"{norm}.bias"]}
    return w


def tokens(dims: Dims, T: int) -> Tensor:
    return torch.randint(dims.V, (2, T), generator=torch.Generator().manual_seed(T))


@pytest.mark.parametrize("dims", DIMS, ids=str)
def test_the_functional_model_computes_what_the_reference_does(reference: ModuleType, dims: Dims) -> None:
    model = filled(reference, dims)
    for T in (1, dims.T_max):
        idx = tokens(dims, T)
        with torch.no_grad():
            difference = oracle.gpt(idx, translated(model)) - model(idx)
        assert difference.abs().max() < 1e-12


def test_each_part_computes_what_the_references_does(reference: ModuleType) -> None:
    dims = SIZES.small
    model = filled(reference, dims)
    w, block = translated(model), model.blocks[1]
    x = torch.randn(2, dims.T_max, dims.d, dtype=torch.float64)
    pairs = ((oracle.attention, block.attn), (oracle.mlp, block.mlp), (oracle.block, block))
    with torch.no_grad():
        for function, module in pairs:
            assert (function(x, w, "1") - module(x)).abs().max() < 1e-12
        assert (oracle.layer_norm(x, w["ln_f.gain"], w["ln_f.bias"]) - model.ln_f(x)).abs().max() < 1e-12


def test_attention_rows_are_averages_over_what_came_before(reference: ModuleType) -> None:
    dims = SIZES.small
    w = translated(filled(reference, dims))
    rows = oracle.attention_weights(torch.randn(2, dims.T_max, dims.d, dtype=torch.float64), w, "0")
    assert rows.shape == (2, dims.H, dims.T_max, dims.T_max)
    assert (rows.sum(-1) - 1).abs().max() < 1e-12
    assert rows.triu(1).abs().max() == 0
    assert rows.min() >= 0


# --- through the wire -------------------------------------------------------------------------------------------------


@pytest.fixture
def asked(zygote: Zygote) -> Oracle:
    return Oracle(OracleProcess(zygote, ASSIGNMENT))


def attention_weights(model: Any, dtype: type[np.floating[Any]] = np.float64) -> dict[str, np.ndarray]:
    """Return the weights of the model's first block by the oracle's names."""
    names = ("q", "k", "v", "o", "o.bias")
    return {name: translated(model)[f"0.{name}"].numpy().astype(dtype) for name in names}


def test_the_oracle_answers_through_the_wire_in_the_precision_of_the_weights(
    reference: ModuleType, asked: Oracle
) -> None:
    dims = SIZES.small
    model = filled(reference, dims)
    x = torch.randn(2, dims.T_max, dims.d, dtype=torch.float64)
    for dtype in (np.float64, np.float32):
        got = asked.attention(attention_weights(model, dtype), x.numpy().astype(dtype))
        assert got.dtype == dtype
        with torch.no_grad():
            right = model.blocks[0].attn(x).numpy()
        assert np.abs(got - right).max() < (1e-12 if dtype is np.float64 else 1e-4)


def test_a_failing_oracle_is_the_graders_fault_and_answers_again(reference: ModuleType, asked: Oracle) -> None:
    x = np.zeros((1, 2, SIZES.small.d))
    with pytest.raises(SandboxError, match="attention"):
        asked.attention({}, x)
    assert asked.attention(attention_weights(filled(reference, SIZES.small)), x).shape == x.shape


def test_one_oracle_serves_all_submissions_and_another_takes_the_place_of_a_dead_one(
    reference: ModuleType, zygote: Zygote
) -> None:
    one, next_one = (Oracle(OracleProcess(zygote, ASSIGNMENT)) for _ in range(2))
    weights, x = attention_weights(filled(reference, SIZES.small)), np.zeros((1, 2, SIZES.small.d))
    kept = one.client.process.pid
    assert np.array_equal(one.attention(weights, x), next_one.attention(weights, x))
    assert one.client.process.pid == kept
    assert one.client.cpu > 0
    assert next_one.client.cpu < one.client.process.cpu  # its own questions only
    os.kill(kept, signal.SIGKILL)
    with pytest.raises(SandboxError, match="SIGKILL"):
        one.attention(weights, x)
    assert next_one.attention(weights, x).shape == x.shape
    assert one.client.process.pid != kept


@pytest.mark.parametrize("square", [4090, 1500], ids=["too many to send", "too many to try"])
def test_what_cannot_be_compared_fits_nothing_and_the_next_class_is_judged(
    asked: Oracle, square: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(oracle_process, "QUERY_CPU", 0.7)
    d, rng = 24, np.random.default_rng(1)
    x = rng.standard_normal((2, 5, d))
    tensors = {f"m{n}": np.zeros((d, d)) for n in range(square)}
    found = asked.identify("attention", tensors, [(x, x)] * 8, {"d": d, "H": 3, "T_max": 9}, {}, 1e-9)
    assert found == Findings((), is_incomplete=square == 4090)
    asked.client.cpu = SUBMISSION_CPU  # the CPU time is used up
    up, down = rng.standard_normal((2, d, 4 * d))
    y = (torch.nn.functional.gelu(torch.from_numpy(x @ up)) @ torch.from_numpy(down.T)).numpy()
    weights = {"up.weight": up.T, "up.bias": np.zeros(4 * d), "down.weight": down, "down.bias": np.zeros(d)}
    found = asked.identify("mlp", weights, [(x, y)], {"d": d}, {}, 1e-9)
    assert found.matches[0].mistakes == ()


# --- arithmetic -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("eps", "pairs"), [(1e-6, False), (0.3, True)])
def test_what_rounding_explains_is_not_searched_for_among_two_mistakes(eps: float, pairs: bool) -> None:
    d, probe = 24, torch.randn(24, 24, dtype=torch.float64, generator=torch.manual_seed(1))
    gain, bias = (torch.randn(2, d, dtype=torch.float64) for _ in range(2))
    w = {f"b.ln{i + 1}.{name}": value[i] for i in (0, 1) for name, value in (("gain", gain), ("bias", bias))}

    def norm(x: Tensor) -> Tensor:
        return (x - x.mean(-1, keepdim=True)) / (x.std(-1, correction=0, keepdim=True) + eps)

    x = torch.randn(2, 7, d, dtype=torch.float64)
    between = x + (gain[0] * norm(x) + bias[0]) @ probe
    y = between + (gain[1] * norm(between) + bias[1]) @ probe
    question = diagnose.Query(
        shapes=[(name, (d,)) for name in w],
        flat=torch.cat([*w.values(), torch.tensor([0.0, 1.0], dtype=torch.float64)]),
        cases=[(x, y)],
        sizes={"d": d},
        probes={"attention": probe, "mlp": probe},
        tolerance=1e-9,
    )
    found, nearest = diagnose.explain("block", question)
    assert not found
    assert nearest is not None
    assert (question.tried[0] > 2500) == pairs  # 24 layouts, each with fifty single mistakes or a thousand pairs


@pytest.mark.parametrize("dims", DIMS, ids=str)
def test_the_parts_add_up_to_what_the_oracles_weights_hold(reference: ModuleType, dims: Dims) -> None:
    w = {name: value.numel() for name, value in translated(reference.GPT(**dims.arguments())).items()}
    n = parameter_count.parts(dims.V, dims.T_max, dims.d, dims.L)
    assert tuple(n) == parameter_count.PARTS
    per_block = {
        "attention": ("q", "k", "v", "o", "o.bias"),
        "mlp": ("up", "up.bias", "down", "down.bias"),
        "block_norms": ("ln1.gain", "ln1.bias", "ln2.gain", "ln2.bias"),
    }
    for part, names in per_block.items():
        assert n[part] == sum(w[f"{at}.{name}"] for at in range(dims.L) for name in names)
    assert n["embeddings"] == w["tok"] + w["pos"]
    assert n["final"] == w["ln_f.gain"] + w["ln_f.bias"] + w["head"]
    assert parameter_count.total(dims) == sum(w.values())


def test_the_rule_of_thumb_and_the_rest_make_up_the_blocks() -> None:
    for dims in DIMS:
        n = parameter_count.parts(dims.V, dims.T_max, dims.d, dims.L)
        rule, blocks, rest = parameter_count.rule_of_thumb(dims)
        assert (rule, rest) == (12 * dims.L * dims.d**2, 10 * dims.d * dims.L)
        assert rule + rest == blocks == n["attention"] + n["mlp"] + n["block_norms"]


COUNTED = (SIZES.course, *SIZES.others)


def counted(
    dims: Dims, off: dict[str, int], tensors: dict[str, list[tuple[str, tuple[int, ...]]]]
) -> parameter_count.ParameterCounts:
    """Return correct counts except for ``off``, and correct tensors except for ``tensors``."""
    d, V, T_max = dims.d, dims.V, dims.T_max
    right: dict[str, list[tuple[str, tuple[int, ...]]]] = {
        "attention": [*((f"heads.{i}", (d // dims.H, d)) for i in range(3 * dims.H)), ("proj.weight", (d, d))],
        "mlp": [("up.weight", (4 * d, d)), ("down.weight", (d, 4 * d))],
        "block_norms": [(f"ln{i}.{part}", (d,)) for i in (1, 2) for part in ("weight", "bias")],
        parameter_count.OUTSIDE: [("tok", (V, d)), ("pos", (T_max, d)), ("ln_f.weight", (d,)), ("head", (V, d))],
    }
    parts = {part: number + off.get(part, 0) for part, number in parameter_count.expected_counts(dims).items()}
    return parameter_count.ParameterCounts(dims, parts, 12 * d * d + 10 * d, right | tensors)


@pytest.mark.parametrize(
    ("row", "change"),
    [(row, change) for row in MISTAKES for change in row.counts],
    ids=lambda value: getattr(value, "name", None) or value.part,
)
def test_a_mistake_is_found_in_its_part_by_its_own_difference(row: Mistake, change: CountChange) -> None:
    counts = [counted(dims, {}, {}) for dims in COUNTED]
    if not any(change.delta(c) for c in counts):
        return  # what it is off by depends on the tensors alone
    off = [counted(c.dims, {change.part: change.delta(c)}, {}) for c in counts]
    found = mistakes.explain_counts(off, MISTAKES)
    assert set(found) == {change.part}
    same = [other for other in row.counts if other.part == change.part and other.delta(off[0]) == change.delta(off[0])]
    assert (row in found[change.part]) == any(all(map(other.has_tensors, off)) for other in same)


def test_what_collides_is_told_apart_by_the_tensors() -> None:
    def norms(*names: str) -> list[Mistake]:
        return mistakes.explain_counts(
            [
                counted(n, {"block_norms": -2 * n.d * n.L}, {"block_norms": [(name, (n.d,)) for name in names]})
                for n in COUNTED
            ],
            MISTAKES,
        )["block_norms"]

    assert norms("ln.weight", "ln.bias") == [mistakes.norm.NORM_SHARED]
    assert norms("ln1.weight", "ln2.weight") == [
        mistakes.norm.NORM_BIAS_MISSING,
        mistakes.norm.NORM_RMS,  # the values tell which
    ]
    assert norms("ln1.bias", "ln2.bias") == [mistakes.norm.NORM_GAIN_MISSING]

    def heads(count: int) -> list[Mistake]:
        return mistakes.explain_counts(
            [
                counted(
                    n,
                    {"attention": -3 * n.d * (n.d - n.d // n.H) * n.L},
                    {"attention": [(f"{i}", (1, 1)) for i in range(count)]},
                )
                for n in COUNTED
            ],
            MISTAKES,
        )["attention"]

    assert heads(4) == [mistakes.attention.HEADS_SHARED]
    assert heads(13) == [mistakes.attention.HEADS_SLICE_INPUT]


def test_causes_in_two_parts_are_found_apart() -> None:
    off = [counted(n, {"attention": -n.d * n.L, "mlp": -n.d * n.L}, {}) for n in COUNTED]
    assert mistakes.explain_counts(off, MISTAKES) == {
        "attention": [mistakes.attention.ATTENTION_PROJ_BIAS_MISSING],
        "mlp": [mistakes.mlp.MLP_DOWN_BIAS_MISSING],
    }


def test_a_difference_of_no_known_cause_is_not_explained() -> None:
    for delta in (1, -1, 7, 1000):
        assert mistakes.explain_counts([counted(n, {"mlp": delta}, {}) for n in COUNTED], MISTAKES) == {"mlp": []}
    # The right difference at one size and none at the others is another mistake.
    first, *others = COUNTED
    one = [counted(first, {parameter_count.OUTSIDE: first.V}, {}), *(counted(n, {}, {}) for n in others)]
    assert mistakes.explain_counts(one, MISTAKES) == {parameter_count.OUTSIDE: []}


@pytest.mark.parametrize(
    ("term", "delta"),
    [
        ("-2dL", lambda n: -2 * n.d * n.L),
        ("-d", lambda n: -n.d),
        ("+V", lambda n: n.V),
        ("-T_max d", lambda n: -n.T_max * n.d),
        ("+31 T_max d", lambda n: 31 * n.T_max * n.d),
        ("-(12d^2 + 10d)(L - 1)", lambda n: -(12 * n.d**2 + 10 * n.d) * (n.L - 1)),
        ("-(8d^2 + 5d)(L - 1)", lambda n: -(8 * n.d**2 + 5 * n.d) * (n.L - 1)),
        ("-2dL - 2d", lambda n: -2 * n.d * n.L - 2 * n.d),
        ("-3d^2 L + 3d^2 L/H", lambda n: -3 * n.d * (n.d - n.d // n.H) * n.L),
        ("", lambda n: 1000 * n.d),
        ("", lambda n: 0),
    ],
)
def test_a_difference_is_written_in_the_handouts_letters(term: str, delta: Callable[[Dims], int]) -> None:
    assert parameter_count.as_formula([(n, delta(n)) for n in COUNTED]) == term


def test_no_term_that_fits_at_one_size_is_taken_for_all() -> None:
    first, *others = COUNTED
    assert not parameter_count.as_formula([(first, -first.d), *((n, 0) for n in others)])
