"""The reference model and paper functions do what the handout claims, checked against independent formulas."""

from __future__ import annotations

import math
import statistics

import pytest
import torch
from torch import nn
from torch.nn import functional as F

COURSE = {"V": 65, "T_max": 64, "d": 128, "H": 4, "L": 4}
# No two sizes equal, so that a mixed-up axis cannot go unnoticed.
DISTINCT = {"V": 11, "T_max": 9, "d": 24, "H": 3, "L": 2}
B, T = 5, 7


@pytest.fixture(autouse=True)
def seeded() -> None:
    torch.manual_seed(5)


def numel(*modules: nn.Module) -> int:
    return sum(p.numel() for module in modules for p in module.parameters())


def randomise(module: nn.Module) -> None:
    """Set distinct values everywhere: gains of 1 and biases of 0 hide mistakes."""
    with torch.no_grad():
        for parameter in module.parameters():
            parameter.normal_(std=0.3)


def tokens(V: int, *shape: int) -> torch.Tensor:
    return torch.randint(V, shape)


def initial_loss(build) -> float:
    """Return the median over 3 fresh models, with 2,048 random targets each."""
    losses = []
    for _ in range(3):
        with torch.no_grad():
            losses.append(build()(tokens(65, 32, 64), tokens(65, 32, 64))[1].item())
    return statistics.median(losses)


# Parameters and the paper formula.


@pytest.mark.parametrize(
    "sizes",
    [COURSE, DISTINCT, {"V": 7, "T_max": 3, "d": 10, "H": 5, "L": 1}, {**COURSE, "H": 8}],
    ids=["course", "distinct", "small", "more heads"],
)
def test_each_part_has_as_many_parameters_as_the_formula_says(ref, sizes):
    model = ref.gpt.GPT(**sizes)
    blocks = model.blocks
    assert ref.paper.parameter_count(sizes["V"], sizes["T_max"], sizes["d"], sizes["L"]) == {
        "embeddings": numel(model.tok_emb, model.pos_emb),
        "attention": numel(*(block.attn for block in blocks)),
        "mlp": numel(*(block.mlp for block in blocks)),
        "block_norms": numel(*(norm for block in blocks for norm in (block.ln1, block.ln2))),
        "final": numel(model.ln_f, model.lm_head),
        "total": numel(model),
    }


def test_the_figures_of_the_handout(ref):
    count = ref.paper.parameter_count(65, 64, 128, 4)
    assert count == {
        "embeddings": 16_512,
        "attention": 262_656,
        "mlp": 526_848,
        "block_norms": 2_048,
        "final": 8_576,
        "total": 816_640,
    }
    blocks = count["attention"] + count["mlp"] + count["block_norms"]
    counted_by_rule = 4 * sum(rows * columns for rows, columns in ref.paper.block_matrices(128).values())
    assert (blocks, counted_by_rule, blocks - counted_by_rule) == (791_552, 786_432, 5_120)


def test_shares_are_percentages_of_the_total(ref):
    shares = ref.paper.parameter_shares(65, 64, 128, 4)
    assert list(shares) == ["embeddings", "attention", "mlp", "block_norms", "final"]
    assert sum(shares.values()) == pytest.approx(100)
    assert [round(share, 2) for share in shares.values()] == [2.02, 32.16, 64.51, 0.25, 1.05]


def test_the_twelve_counts_the_matrices_of_a_block(ref):
    d, H = 24, 3
    block = ref.gpt.Block(d, H, 9)
    heads = block.attn.heads
    kinds = {kind: torch.cat([getattr(head, kind).weight for head in heads]).T for kind in ("query", "key", "value")}
    in_the_model = [*kinds.values(), block.attn.proj.weight.T, block.mlp.up.weight.T, block.mlp.down.weight.T]
    assert sorted(ref.paper.block_matrices(d).values()) == sorted(tuple(matrix.shape) for matrix in in_the_model)
    assert sum(p.numel() for p in block.parameters() if p.dim() == 2) == 12 * d**2


# The parts against independent formulas.


def test_attention_equals_the_library_head_by_head(ref):
    d, H = 24, 3
    mha = ref.gpt.MultiHeadAttention(d, H, 9).double()
    randomise(mha)
    x = torch.randn(B, T, d, dtype=torch.float64)
    found = [
        F.scaled_dot_product_attention(head.query(x), head.key(x), head.value(x), is_causal=True) for head in mha.heads
    ]
    assert len(found) == H
    expected = torch.cat(found, dim=-1) @ mha.proj.weight.T + mha.proj.bias
    torch.testing.assert_close(mha(x), expected, rtol=0, atol=1e-12)


def test_a_width_not_divisible_by_the_heads_raises_with_both_numbers(ref):
    for attention in (ref.gpt.MultiHeadAttention, ref.gpt.BatchedMultiHeadAttention):
        with pytest.raises(AssertionError, match=r"d=10.*H=4"):
            attention(10, 4, 8)


def test_the_mlp_equals_the_formula_with_the_exact_gelu(ref):
    mlp = ref.gpt.MLP(24).double()
    randomise(mlp)
    x = torch.randn(B, T, 24, dtype=torch.float64)
    hidden = x @ mlp.up.weight.T + mlp.up.bias
    hidden = hidden * (1 + torch.erf(hidden / math.sqrt(2))) / 2
    torch.testing.assert_close(mlp(x), hidden @ mlp.down.weight.T + mlp.down.bias, rtol=0, atol=1e-12)


def test_the_block_is_pre_norm_and_adds_to_the_stream(ref):
    d = 24
    block = ref.gpt.Block(d, 3, 9).double()
    randomise(block)
    x = torch.randn(B, T, d, dtype=torch.float64)

    def norm(u: torch.Tensor, layer: nn.LayerNorm) -> torch.Tensor:
        centred = u - u.mean(-1, keepdim=True)
        return centred / (centred.pow(2).mean(-1, keepdim=True) + 1e-5).sqrt() * layer.weight + layer.bias

    y = x + block.attn(norm(x, block.ln1))
    z = y + block.mlp(norm(y, block.ln2))
    torch.testing.assert_close(block(x), z, rtol=0, atol=1e-12)


def test_the_model_is_embeddings_blocks_norm_and_unembedding(ref):
    model = ref.gpt.GPT(**DISTINCT).double()
    randomise(model)
    idx = tokens(11, B, T)
    x = F.one_hot(idx, 11).double() @ model.tok_emb.weight + model.pos_emb.weight[:T]
    for block in model.blocks:
        x = block(x)
    torch.testing.assert_close(model(idx), model.ln_f(x) @ model.lm_head.weight.T, rtol=0, atol=1e-12)


@pytest.mark.parametrize("length", [1, 7, 9])
def test_logits_and_loss(ref, length):
    model = ref.gpt.GPT(**{**DISTINCT, "V": 9})  # at T = V = 9 an unflattened cross_entropy raises nothing
    idx, targets = tokens(9, B, length), tokens(9, length, B).T  # targets that are not contiguous in memory
    logits, loss = model(idx, targets)
    assert logits.shape == (B, length, 9)
    assert torch.equal(logits, model(idx))
    log_probabilities = logits.double().log_softmax(-1)
    picked = [log_probabilities[b, t, targets[b, t]].item() for b in range(B) for t in range(length)]
    assert loss.shape == ()
    assert loss.item() == pytest.approx(-statistics.fmean(picked), abs=1e-5)


def test_a_sequence_longer_than_T_max_raises_with_both_numbers(ref):
    with pytest.raises(AssertionError, match=r"T=10.*T_max=9"):
        ref.gpt.GPT(**DISTINCT)(tokens(11, 1, 10))


# What the handout verifies on the whole model.


@torch.no_grad()
def test_no_logit_moves_when_a_later_token_changes(ref):
    model = ref.gpt.GPT(**COURSE)
    randomise(model)
    idx = tokens(65, 2, 64)
    before = model(idx)
    assert before.isfinite().all()  # a NaN would pass each comparison below that asks for "no change above ..."
    for cut in (1, 17, 40, 63):
        changed = idx.clone()
        changed[:, cut:] = (changed[:, cut:] + 1) % 65
        difference = (model(changed) - before).abs().amax(dim=(0, 2))  # (T,)
        assert difference[:cut].max() == 0
        assert difference[cut:].min() > 0
    changed = idx.clone()
    changed[:, 0] = (changed[:, 0] + 1) % 65
    assert (model(changed) - before)[:, 63].abs().max() > 0


def test_the_initial_loss_is_a_sixth_above_ln_V(ref):
    assert 4.31 <= initial_loss(lambda: ref.gpt.GPT(**COURSE)) <= 4.37


@pytest.mark.parametrize("L", [1, 3])
def test_only_the_weights_of_the_two_projections_are_scaled(ref, L):
    model = ref.gpt.GPT(V=65, T_max=8, d=128, H=4, L=L)
    for block in model.blocks:
        # nn.Linear samples uniformly up to 1 / sqrt(in_features), so the largest entry is close to that.
        for layer, inputs in ((block.attn.proj, 128), (block.mlp.down, 512)):
            bound = 1 / math.sqrt(inputs)
            assert layer.weight.abs().max().item() == pytest.approx(bound / math.sqrt(2 * L), rel=0.01)
            assert layer.bias.abs().max().item() == pytest.approx(bound, rel=0.1)
        assert block.mlp.up.weight.abs().max().item() == pytest.approx(1 / math.sqrt(128), rel=0.01)
        assert block.attn.heads[0].value.weight.abs().max().item() == pytest.approx(1 / math.sqrt(128), rel=0.01)


def test_the_shape_table_has_the_computation_in_order(ref):
    table = ref.gpt.shape_table(ref.gpt.GPT(**DISTINCT), tokens(11, B, T))
    assert table == [
        ("embeddings", (B, T, 24)),
        ("block 1", (B, T, 24)),
        ("block 2", (B, T, 24)),
        ("final LayerNorm", (B, T, 24)),
        ("logits", (B, T, 11)),
    ]
    assert all(type(shape) is tuple for _, shape in table)


# Generation.


@pytest.mark.parametrize("prompt", [1, 7, 9, 13])
def test_generate_crops_to_the_last_T_max_tokens_and_keeps_all(ref, prompt):
    model = ref.gpt.GPT(**DISTINCT)
    seen: list[torch.Tensor] = []
    model.register_forward_pre_hook(lambda _, inputs: seen.append(inputs[0].clone()))
    idx = tokens(11, B, prompt)
    out = model.generate(idx, 12)
    assert out.shape == (B, prompt + 12)
    assert torch.equal(out[:, :prompt], idx)
    assert len(seen) == 12
    for step, context in enumerate(seen):
        assert torch.equal(context, out[:, max(0, prompt + step - 9) : prompt + step])


def test_generate_samples_from_the_softmax_at_the_last_position(ref):
    model = ref.gpt.GPT(**DISTINCT)
    wanted = torch.tensor([[0.5, 0.25, 0.15, 0.1] + [1e-9] * 7, [1e-9] * 8 + [0.2, 0.7, 0.1]])
    logits = torch.zeros(2, 5000, 3, 11)  # the other positions are uniform over all tokens
    logits[:, :, -1] = wanted.log()[:, None]
    model.forward = lambda idx: logits.flatten(0, 1)
    sampled = model.generate(tokens(11, 10_000, 3), 1)[:, -1].view(2, 5000)
    # The share of a token in 5,000 draws has a standard deviation of at most 0.007.
    for row, probabilities in zip(sampled, wanted, strict=True):
        torch.testing.assert_close(row.bincount(minlength=11) / 5000, probabilities, rtol=0, atol=0.03)


def test_generate_records_no_gradient_and_samples_anew_each_time(ref):
    model = ref.gpt.GPT(**DISTINCT)
    recording: list[bool] = []
    model.register_forward_pre_hook(lambda *_: recording.append(torch.is_grad_enabled()))
    idx = tokens(11, 1, 1)
    assert not torch.equal(model.generate(idx, 30), model.generate(idx, 30))
    assert not any(recording)


# Going further.


def test_tied_weights_are_one_parameter_and_start_in_the_window(ref):
    model = ref.gpt.GPT(**COURSE, tie_weights=True)
    assert model.lm_head.weight is model.tok_emb.weight
    assert numel(model) == 808_320
    assert 4.15 <= initial_loss(lambda: ref.gpt.GPT(**COURSE, tie_weights=True)) <= 4.45


@torch.no_grad()
def test_batched_heads_equal_the_loop(ref):
    d, H = 24, 3
    loop, batched = ref.gpt.MultiHeadAttention(d, H, 9), ref.gpt.BatchedMultiHeadAttention(d, H, 9)
    for kind in ("query", "key", "value"):
        stacked = torch.cat([getattr(head, kind).weight for head in loop.heads])
        getattr(batched, kind).weight.copy_(stacked)
    batched.proj.load_state_dict(loop.proj.state_dict())
    assert numel(loop) == numel(batched)
    for length in (1, T, 9):
        x = torch.randn(B, length, d)
        torch.testing.assert_close(batched(x), loop(x), rtol=0, atol=1e-6)


@torch.no_grad()
def test_qk_and_ov_reproduce_the_heads_and_have_rank_d_head(ref):
    d, H = 24, 3
    mha = ref.gpt.MultiHeadAttention(d, H, 9).double()
    randomise(mha)
    products = ref.gpt.qk_ov(mha)
    assert len(products) == H
    x, y = torch.randn(2, d, dtype=torch.float64)
    for head, (qk, ov) in zip(mha.heads, products, strict=True):
        assert qk.shape == ov.shape == (d, d)
        torch.testing.assert_close(x @ qk @ y, head.query(x) @ head.key(y), rtol=0, atol=1e-11)
        assert torch.linalg.matrix_rank(qk) == torch.linalg.matrix_rank(ov) == d // H
    # A single token attends only to itself: the output is the sum of the heads' contributions.
    written = sum(x @ ov for _, ov in products)
    torch.testing.assert_close(mha(x.view(1, 1, d)).flatten(), written + mha.proj.bias, rtol=0, atol=1e-11)


# The other paper functions.


@pytest.mark.parametrize("std", [1 / math.sqrt(3 * 128), 0.02], ids=["torch", "gpt-2"])
def test_the_expected_initial_loss_matches_a_model(ref, std):
    def build() -> nn.Module:
        model = ref.gpt.GPT(**COURSE)
        nn.init.normal_(model.lm_head.weight, std=std)
        return model

    assert ref.paper.expected_initial_loss(65, 128, std) == pytest.approx(initial_loss(build), abs=0.03)


def test_the_expected_initial_loss_to_the_digit(ref):
    assert ref.paper.expected_initial_loss(65, 128, 0.0) == pytest.approx(math.log(65))
    assert ref.paper.expected_initial_loss(65, 128, 1 / math.sqrt(384)) == pytest.approx(math.log(65) + 1 / 6)
    assert ref.paper.expected_initial_loss(11, 50, 0.2) == pytest.approx(math.log(11) + 1)


@pytest.mark.parametrize("d", [2, 7, 128])
def test_layer_norm_is_two_projections(ref, d):
    u = 3 + 10 * torch.randn(d, dtype=torch.float64)
    projected = ref.paper.layer_norm_geometry(u)
    torch.testing.assert_close(projected, F.layer_norm(u, (d,), eps=1e-15), rtol=0, atol=1e-9)
    assert projected.sum().item() == pytest.approx(0, abs=1e-9)
    assert projected.norm().item() == pytest.approx(math.sqrt(d))
