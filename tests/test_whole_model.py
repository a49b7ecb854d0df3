"""Test that layouts carry over to other sizes, and that the oracle composes a whole model from them."""

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

HEADS = {  # ways to store an attention's weights: the shapes for width d, H heads of width k
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
    """The layouts are the same ones at all sizes, and each takes every entry of the tensors once."""
    found = []
    for sizes in ({"d": 20, "H": 4}, {"d": 48, "H": 8}):
        d, H = sizes["d"], sizes["H"]
        shapes = HEADS[kind](d, H, d // H)
        found.append(list(layouts.attention_layouts(shapes, d, H)))
        for layout in itertools.islice(found[0], 0, None, 50):
            entries = layouts.build_layout(layout, shapes, sizes)
            assert entries is not None
            assert entries["o"].shape == (H, d // H, d)
            every = np.concatenate([at.reshape(-1) for at in entries.values()])
            assert np.array_equal(np.sort(every), np.arange(4 * d * d + d))
    assert found[0] == found[1]


def test_a_layout_says_which_entries_have_a_role() -> None:
    layout = {"q": layouts.Source(("w*",), "rdhk", 1, 2), "o": layouts.Source(("out",), "rdHk")}
    entries = layouts.build_layout(layout, [("w1", (4, 4)), ("w2", (4, 4)), ("out", (4, 4))], {"d": 4, "H": 2})
    assert entries is not None
    assert entries["q"].tolist() == [
        [[16, 17], [20, 21], [24, 25], [28, 29]],
        [[18, 19], [22, 23], [26, 27], [30, 31]],
    ]
    assert entries["o"].tolist() == [[[34, 38, 42, 46], [35, 39, 43, 47]], [[32, 36, 40, 44], [33, 37, 41, 45]]]


def test_no_entries_are_found_if_the_tensors_differ() -> None:
    layout = next(layouts.attention_layouts(HEADS["separate"](20, 4, 5), 20, 4))
    assert layouts.build_layout(layout, HEADS["fused"](96, 8, 12), {"d": 96, "H": 8}) is None
    assert layouts.build_layout(layout, HEADS["separate"](24, 4, 6), {"d": 20, "H": 4}) is None


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
    block_names = tuple(f"{n}.{p}" for n in ("ln1", "ln2") for p in ("weight", "bias"))
    own = tuple(name for name in weights if "blocks" not in name)
    norms = layouts.norm_layouts(layouts.stack_tensors([(name, (20,)) for name in block_names]), 20, ["ln1", "ln2"])
    tables = layouts.model_layouts([(name, weights[name].shape) for name in own], 11, 9, 24)
    attention, mlp = shapes(ref.gpt.MultiHeadAttention(20, 4, 9)), shapes(ref.gpt.MLP(20))
    parts = {
        "attention": part(attention, next(layouts.attention_layouts(attention, 20, 4))),
        "mlp": part(mlp, next(layouts.mlp_layouts(mlp, 20))),
        "block": ClassLayout(block_names, next(norms)[0], ()),
        "model": ClassLayout(own, next(tables)[0], ()),
    }
    local = {kind: parts[kind].names for kind in ("attention", "mlp", "block")}
    inside = {"attention": "attn.", "mlp": "mlp.", "block": ""}
    named = tuple(
        {kind: tuple(f"blocks.{i}.{inside[kind]}{name}" for name in local[kind]) for kind in local} for i in range(3)
    )
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


def shapes(module: torch.nn.Module) -> list[tuple[str, tuple[int, ...]]]:
    return [(name, tuple(p.shape)) for name, p in module.named_parameters()]


def part(tensors: list[tuple[str, tuple[int, ...]]], layout: layouts.Layout) -> ClassLayout:
    return ClassLayout(tuple(name for name, _ in tensors), layout, ())
