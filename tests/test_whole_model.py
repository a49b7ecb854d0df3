"""Layouts carry over to other sizes, and the oracle composes a whole model from them."""

from __future__ import annotations

import itertools
from types import SimpleNamespace

import numpy as np
import pytest
import torch

from autograder.assignment import ASSIGNMENT
from autograder.assignment.measure import whole_model
from autograder.assignment.oracle import layouts
from autograder.assignment.oracle.client import ClassLayout, ModelLayout, Oracle
from autograder.sandbox.remote.client import Zygote
from autograder.sandbox.remote.oracle_process import OracleProcess
from autograder.sandbox.remote.replies import Parameter

HEADS = {  # how an attention may keep its weights: the shapes for width d, H heads of width k
    "separate": lambda d, H, k: [("q", (d, d)), ("k", (d, d)), ("v", (d, d)), ("o", (d, d)), ("o_bias", (d,))],
    "fused": lambda d, H, k: [("qkv.weight", (3 * d, d)), ("o.weight", (d, d)), ("o.bias", (d,))],
    "by head": lambda d, H, k: [
        *((f"heads.{h}.{role}", (k, d)) for h in range(H) for role in "qkv"),
        ("o.weight", (d, d)),
        ("o.bias", (d,)),
    ],
    "one parameter": lambda d, H, k: [("w", (3, H, d, k)), ("o.weight", (d, d)), ("o.bias", (d,))],
}


@pytest.mark.parametrize("kind", HEADS)
def test_a_layout_keeps_its_meaning_at_other_sizes(kind: str) -> None:
    """There and back again it is the same one."""
    small, large = {"d": 20, "H": 4}, {"d": 48, "H": 8}
    known, shapes = HEADS[kind](20, 4, 5), HEADS[kind](48, 8, 6)
    candidates = [
        list(itertools.islice(layouts.candidate_layouts("attention", *at), 6))
        for at in ((known, small), (shapes, large))
    ]
    for number, here in enumerate(candidates[0]):
        there = layouts.same_layout("attention", known, small, number, shapes, large)
        assert there is not None
        again = next(i for i, other in enumerate(candidates[1]) if same(there, other))
        back = layouts.same_layout("attention", shapes, large, again, known, small)
        assert back is not None
        assert same(back, here)


def same(one: layouts.Layout, other: layouts.Layout) -> bool:
    return one.keys() == other.keys() and all(np.array_equal(one[role], other[role]) for role in one)


def test_no_layout_is_found_where_the_tensors_are_others() -> None:
    known, other = HEADS["separate"](20, 4, 5), HEADS["fused"](96, 8, 12)
    assert layouts.same_layout("attention", known, {"d": 20, "H": 4}, 0, other, {"d": 96, "H": 8}) is None


def test_a_part_is_found_wherever_all_of_its_tensors_are() -> None:
    part = [Parameter("up.weight", (8, 2), True), Parameter("up.bias", (8,), True)]
    whole = [Parameter(f"{at}{p.name}", p.shape, True) for at in ("blocks.0.mlp.", "blocks.1.mlp.") for p in part]
    assert whole_model.prefixes(whole, part) == [
        ("blocks.0.mlp.up.weight", "blocks.0.mlp.up.bias"),
        ("blocks.1.mlp.up.weight", "blocks.1.mlp.up.bias"),
    ]
    assert whole_model.prefixes(whole[:3], part) == [("blocks.0.mlp.up.weight", "blocks.0.mlp.up.bias")]
    assert whole_model.prefixes([Parameter("cup.weight", (8, 2), True), Parameter("cup.bias", (8,), True)], part) == []


@pytest.mark.parametrize("order", [(0, 1, 2), (2, 1, 0)])
def test_the_oracle_composes_the_reference_from_its_layouts(
    order: tuple[int, ...], ref: SimpleNamespace, zygote: Zygote
) -> None:
    torch.manual_seed(0)
    sizes = {"V": 11, "T_max": 9, "d": 24, "H": 4, "L": 3}
    model = ref.gpt.GPT(**sizes).eval()
    blocks = [model.blocks[i] for i in order]
    weights = {name: p.detach().numpy() for name, p in model.named_parameters()}
    parts = {
        "attention": part(ref.gpt.MultiHeadAttention(20, 4, 9), {"d": 20, "H": 4}),
        "mlp": part(ref.gpt.MLP(20), {"d": 20}),
        "block": ClassLayout(
            tuple((f"{n}.{p}", (24,)) for n in ("ln1", "ln2") for p in ("weight", "bias")), {"d": 24}, 0, ()
        ),
        "model": ClassLayout(
            tuple((name, value.shape) for name, value in weights.items() if "blocks" not in name), sizes, 0, ()
        ),
    }
    local = {kind: tuple(name for name, _ in parts[kind].shapes) for kind in ("attention", "mlp", "block")}
    inside = {"attention": "attn.", "mlp": "mlp.", "block": ""}
    named = tuple(
        {kind: tuple(f"blocks.{i}.{inside[kind]}{name}" for name in local[kind]) for kind in local} for i in range(3)
    )
    own = tuple(name for name, _ in parts["model"].shapes)
    composed = Oracle(OracleProcess(zygote, ASSIGNMENT)).compose(ModelLayout(sizes, parts, local, named, own), weights)
    assert composed is not None
    idx = torch.randint(0, 11, (2, 7))
    with torch.no_grad():
        x = model.tok_emb(idx) + model.pos_emb(torch.arange(7))
        for block in blocks:
            x = block(x)
        logits = model.lm_head(model.ln_f(x)).numpy()
    assert composed.block_order([(idx.numpy(), logits)], 1e-4) == order
    assert composed.block_order([(idx.numpy(), logits + 1)], 1e-4) == ()


def part(module: torch.nn.Module, sizes: dict[str, int]) -> ClassLayout:
    """The reference's own layout, which is the first of all that are tried."""
    return ClassLayout(tuple((name, tuple(p.shape)) for name, p in module.named_parameters()), sizes, 0, ())
