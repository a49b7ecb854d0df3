"""Explain a student's class by known mistakes with which the oracle computes the same outputs, the fewest first.

Each component has levels: the correct model with its accepted variants, one mistake, two. All explanations of the first
level that has any are returned, so that the caller can tell them apart by another observation, or show them all.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import TypeVar

import numpy as np
import torch
from torch import Tensor

from autograder.assignment import mistakes
from autograder.assignment.oracle import layouts, model
from autograder.assignment.oracle.variants import Function, Steps

MAX_COMPARISONS = 20_000  # comparisons for one query, about 0.1 ms each
ROUNDING = 1e-4  # of the largest entry; closer to the correct model than this is different rounding, not two mistakes
MAX_NEAREST = 48  # layouts tried to find the nearest
Case = tuple[Tensor, Tensor]  # an input, and the output of the student's class
Names = frozenset[str]
Item = TypeVar("Item")
# At T=1 every attention weight is 1, so only these steps matter.
SINGLE_TOKEN_STEPS = ("value", "project", "merge", "split", "softmax", "add", "axis")


class Exhausted(Exception):
    """Raised after MAX_COMPARISONS: counted, not timed, so that a slow machine reaches the same verdict."""


@dataclass(frozen=True)
class Query:
    """The tensors of a student's class (entries end to end, then a 0 and a 1) and its outputs."""

    shapes: layouts.Shapes
    flat: Tensor
    cases: list[Case]
    sizes: dict[str, int]
    probes: dict[str, Tensor]
    tolerance: float
    expected: Names = frozenset()  # mistakes found by other checks, tried on their own first
    max_layouts: int | None = None  # tried; None means all
    blocks: Sequence[Function] = ()  # a whole model's blocks; if empty, a stub for each
    tried: list[int] = field(default_factory=lambda: [0])

    def fits(self, function: Function, cases: list[Case] | None = None) -> bool:
        """Return whether ``function`` gives the student's outputs, each entry to the tolerance times the largest."""
        return self.measure_gap(function, cases) <= self.tolerance

    def measure_gap(self, function: Function, cases: list[Case] | None = None) -> float:
        """Return the largest distance from the student's outputs, or the first one above ROUNDING."""
        self.tried[0] += 1
        if self.tried[0] > MAX_COMPARISONS:
            raise Exhausted
        worst = 0.0
        for case in self.cases if cases is None else cases:
            worst = max(worst, self.measure_case(function, case))
            if worst > max(ROUNDING, self.tolerance):
                break
        return worst

    def measure_case(self, function: Function, case: Case) -> float:
        """Return the largest distance from the student's output over its largest entry; infinite if shapes differ."""
        x, y = case
        try:
            own = function(x)
        except (RuntimeError, IndexError):
            return float("inf")
        if own.shape != y.shape:
            return float("inf")
        gap = float((own - y).abs().max()) / max(1.0, float(y.abs().max()))
        return gap if gap == gap else float("inf")  # NaN fits nothing

    def assign(self, layout: layouts.Layout, prefix: str = "") -> dict[str, Tensor]:
        """Return the tensors by the oracle's names, as ``layout`` assigns them."""
        return {f"{prefix}{name}": self.flat[torch.from_numpy(np.ascontiguousarray(at))] for name, at in layout.items()}


@dataclass(frozen=True)
class Explanation:
    """A match: the mistakes, the number of the layout, the number of heads or blocks, and the oracle's steps."""

    mistakes: tuple[str, ...]
    layout_index: int
    count: int = 0
    steps: Steps = field(default_factory=dict)


@dataclass(frozen=True)
class Residual:
    """The distance of the correct model from the student's outputs, under the nearest layout.

    ``position`` is the first that is off; ``alone`` says that sequences of one token are correct.
    """

    gap: float
    position: int
    alone: bool


Candidate = tuple[Explanation, Function]
Levels = Iterable[Iterable[Candidate]]


def explain(component: str, q: Query) -> tuple[list[Explanation], Residual | None]:
    """Return the explanations with the fewest mistakes, if any; if the correct model fails to fit, its distance too."""
    levels, right = _COMPONENTS[component]
    found = _find_cheapest(levels(q, q.expected), q) if q.expected else []
    found = found or _find_cheapest(levels(q, frozenset()), q)
    if found and not found[0].mistakes:
        return found, None
    return found, _find_nearest(q, right(q))


def build_function(component: str, q: Query, match: Explanation) -> Function | None:
    """Return what the oracle computes with the tensors of an attention, MLP or block as in ``match``, if it exists."""
    sizes = q.sizes | ({"H": match.count} if component == "attention" else {})
    known_layouts = layouts.candidate_layouts(component, q.shapes, sizes)
    layout = next(itertools.islice(known_layouts, match.layout_index, None), None)
    if layout is None:
        return None
    w = q.assign(layout, "a.")
    if component == "block":
        return _compose_block(q, w, match.steps, "a")
    return partial({"attention": model.attention, "mlp": model.mlp}[component], w=w, at="a", steps=match.steps)


def _find_cheapest(levels: Levels, q: Query) -> list[Explanation]:
    """Return the explanations of the first level that has any, one for each set of mistakes."""
    found: dict[frozenset[str], Explanation] = {}
    close = False
    try:
        for number, level in enumerate(levels):
            for candidate, function in level:
                names = frozenset(candidate.mistakes)
                if names in found:
                    continue
                gap = q.measure_gap(function)
                if gap <= q.tolerance:
                    found[names] = candidate
                    if not names:
                        return [candidate]
                close = close or (number == 0 and gap <= ROUNDING)
            if found or (close and number == 1):
                break
    except Exhausted:
        pass
    return list(found.values())


def _find_nearest(q: Query, functions: Iterable[Function]) -> Residual | None:
    """Return the residual of the function whose outputs are nearest to the student's, if there is any function."""
    nearest, alone = None, False
    for function in itertools.islice(functions, MAX_NEAREST):
        gaps = [q.measure_case(function, case) for case in q.cases]
        single = [gap for (x, _), gap in zip(q.cases, gaps, strict=True) if x.shape[1] == 1]
        alone = alone or (bool(single) and max(single) <= q.tolerance < max(gaps))
        if max(gaps) < (nearest.gap if nearest else float("inf")):
            x, y = q.cases[int(np.argmax(gaps))]
            gaps_by_position = (function(x) - y).abs().amax(-1).amax(0) / max(1.0, float(y.abs().max()))
            off = (gaps_by_position > q.tolerance).nonzero().reshape(-1)
            nearest = Residual(max(gaps), int(off[0]) if len(off) else -1, False)
    return Residual(nearest.gap, nearest.position, alone) if nearest else None


# --- attention --------------------------------------------------------------------------------------------------------


def _attention_levels(q: Query, only: Names) -> Levels:
    """Yield candidates that fit at T=1, where queries and keys don't matter; a wrong number of heads is one mistake."""
    d, H = q.sizes["d"], q.sizes["H"]
    single = [case for case in q.cases if case[0].shape[1] == 1]
    known_layouts: dict[tuple[int, bool], _Cache[layouts.Layout]] = {}
    fits_single: dict[tuple[int, bytes, tuple[tuple[str, str], ...]], bool] = {}
    fitting: set[int] = set()  # layouts with H heads that fit at T=1

    def candidates(heads: int, max_mistakes: int, min_mistakes: int = 0) -> Iterator[Candidate]:
        nonlocal fitting
        # Rare layouts are tried only without mistakes: all combinations would be too many.
        with_rare = heads == H and not max_mistakes
        if (heads, with_rare) not in known_layouts:
            found = (layouts.candidate_layouts if with_rare else layouts.common_layouts)(
                "attention", q.shapes, {"d": d, "H": heads}
            )
            known_layouts[heads, with_rare] = _Cache(itertools.islice(found, q.max_layouts))
        wrong = () if heads == H else ("heads_wrong_number",)
        for steps, names in _combine_mistakes(max_mistakes, only, "attention", min_mistakes=min_mistakes):
            single_token = {step: steps[step] for step in SINGLE_TOKEN_STEPS if step in steps}
            if steps.get("scale") == "after_softmax" or steps.get("softmax") == "missing":
                single_token = steps
            for number, layout in enumerate(known_layouts[heads, with_rare]):
                if min_mistakes > 1 and number not in fitting:
                    continue  # T=1 fits with no single mistake
                used = {steps.get("key", "k"), steps.get("value", "q")} & {*layouts.ROLES}
                if not used <= layout.keys() or ("v" not in layout and steps.get("value") == "input"):
                    continue  # these steps need a role that is missing, or omit one that exists
                single_token |= {} if "k" in layout else {"key": "q"}
                # Layouts that differ only in queries and keys agree at T=1.
                relevant = (
                    [*layout] if single_token is steps else ["v", "o", "v.bias", "o.bias", steps.get("value", "v")]
                )
                entries = b"".join(layout[role].tobytes() for role in relevant if role in layout)
                key = (heads, entries, tuple(sorted(single_token.items())))
                if key not in fits_single:
                    w = q.assign(layout, "a.")
                    fits_single[key] = q.fits(partial(model.attention, w=w, at="a", steps=single_token), single)
                if fits_single[key]:
                    fitting |= {number} if heads == H else set()
                    own = ["value_is_input"] if "v" not in layout and "value" not in steps else []
                    match = Explanation(
                        (*wrong, *_find_tensor_mistakes(layout, heads), *own, *names), number, heads, steps
                    )
                    yield match, partial(model.attention, w=q.assign(layout, "a."), at="a", steps=steps)

    others = [h for h in range(1, d + 1) if d % h == 0 and h != H and not only]
    yield candidates(H, 0)
    yield itertools.chain(candidates(H, 1, 1), *(candidates(heads, 0) for heads in others))
    yield itertools.chain(candidates(H, 2, 2), *(candidates(heads, 1, 1) for heads in others))


def _attention_right(q: Query) -> Iterator[Function]:
    for layout in _attention_layouts(q, q.sizes["H"]):
        if set(layouts.ROLES) <= layout.keys():
            yield partial(model.attention, w=q.assign(layout, "a."), at="a")


def _attention_layouts(q: Query, heads: int) -> Iterator[layouts.Layout]:
    sizes = {"d": q.sizes["d"], "H": heads}
    return itertools.islice(layouts.candidate_layouts("attention", q.shapes, sizes), q.max_layouts)


def _find_tensor_mistakes(layout: layouts.Layout, H: int) -> list[str]:
    """Return the mistakes that the tensors alone show."""
    found = []
    if "q.bias" in layout:
        found.append("qkv_biases")
    if (layout["o"] < 0).all():
        found.append("projection_missing")
    elif "o.bias" not in layout:
        found.append("attention_proj_bias_missing")
    roles = [layout[role] for role in layouts.ROLES if role in layout]
    shared = [H > 1 and np.array_equal(role[0], role[1]) for role in roles]
    if any(shared):
        found.append("heads_shared" if all(shared) else "heads_share_keys_values")
    if layout["q"].shape[2] * H != layout["q"].shape[1]:
        found.append("heads_full_width")
    return found


# --- MLP --------------------------------------------------------------------------------------------------------------


def _mlp_levels(q: Query, only: Names) -> Levels:
    d = q.sizes["d"]
    known_layouts = [(layout, q.assign(layout, "m.")) for layout in layouts.candidate_layouts("mlp", q.shapes, q.sizes)]
    for count in range(3):
        candidates = []
        for steps, names in _combine_mistakes(count, only, "mlp", min_mistakes=count):
            for number, (layout, w) in enumerate(known_layouts):
                implied = ["mlp_width"] if layout["up"].shape[1] != 4 * d else []
                missing = [side for side in ("up", "down") if f"{side}.bias" not in layout]
                implied += ["mlp_biases_missing"] if len(missing) == 2 else [f"mlp_{m}_bias_missing" for m in missing]
                found = Explanation((*implied, *names), number, steps=steps)
                candidates.append((found, partial(model.mlp, w=w, at="m", steps=steps)))
        yield candidates


def _mlp_right(q: Query) -> Iterator[Function]:
    for layout in layouts.candidate_layouts("mlp", q.shapes, q.sizes):
        yield partial(model.mlp, w=q.assign(layout, "m."), at="m")


# --- block ------------------------------------------------------------------------------------------------------------

UNUSED_NORM = ("block_first_norm_missing", "block_second_norm_missing")


def _block_levels(q: Query, only: Names) -> Levels:
    """Yield the block's composition around stubs for attention and MLP."""
    known_layouts = list(_norm_layouts(q))
    for count in range(3):
        yield (
            (Explanation(_merge_norm_mistakes(implied, names), number, steps=steps), _compose_block(q, w, steps))
            for steps, names in _combine_mistakes(count, only, "block", "norm", min_mistakes=count)
            for number, (w, implied) in enumerate(known_layouts)
        )


def _block_right(q: Query) -> Iterator[Function]:
    for w, _ in _norm_layouts(q):
        yield _compose_block(q, w, {})


def _norm_layouts(q: Query) -> Iterator[tuple[dict[str, Tensor], str]]:
    for layout, implied in layouts.norm_layouts(layouts.number_entries(q.shapes), q.sizes["d"], ["ln1", "ln2"]):
        yield q.assign(layout, "b."), implied


def _compose_block(q: Query, w: dict[str, Tensor], steps: Steps, at: str = "b") -> Function:
    attn, mlp = (lambda x: x @ q.probes["attention"]), (lambda x: x @ q.probes["mlp"])
    return partial(model.compose, w=w, at=at, attn=attn, mlp=mlp, steps=steps)


def _merge_norm_mistakes(implied: str, names: list[str]) -> tuple[str, ...]:
    """Merge the norms' mistakes from tensors and from values; two that amount to one known mistake become one."""
    if implied == "norm_bias_missing" and "norm_not_centred" in names:
        return ("norm_rms", *(name for name in names if name != "norm_not_centred"))
    if implied == "norm_without_affine" and "block_no_norms" in names:
        return ("block_norms_missing", *(name for name in names if name != "block_no_norms"))
    if implied == "norm_shared" and set(UNUSED_NORM) & set(names):
        return tuple(names)  # the other norm is unused, so it may be missing
    return (*([implied] if implied else []), *names)


# --- model ------------------------------------------------------------------------------------------------------------


def _model_levels(q: Query, only: Names) -> Levels:
    """Yield the model's composition around a stub for each block; a wrong number of blocks is one mistake."""
    L, own_blocks = q.sizes["L"], q.sizes.get("blocks", 0)
    known_layouts = _Cache((layout, q.assign(layout), implied) for layout, implied in _model_layouts(q))

    def candidates(count: int, max_mistakes: int, min_mistakes: int) -> Iterator[Candidate]:
        for steps, names in _combine_mistakes(max_mistakes, only, "model", "norm", min_mistakes=min_mistakes):
            if steps.get("blocks") == "last_unused" and own_blocks not in (0, L):
                continue  # no block is unused: there are fewer
            for number, (layout, w, implied) in enumerate(known_layouts):
                norm_absent = steps.get("final_norm") == "unused" and implied == "norm_without_affine"
                own = "" if norm_absent else implied
                more = ["positions_missing"] if (layout["pos"] == layouts.ZERO).all() else []
                more += ["head_bias"] if "head.bias" in layout else []
                more += ["blocks_wrong_number"] if count != L else []
                by_values = [name for name in names if not norm_absent or name != "final_norm_unused"]
                more += ["final_norm_missing"] if norm_absent else []
                found = Explanation((*more, *_merge_norm_mistakes(own, by_values)), number, count, steps)
                yield found, partial(model.stack, w=w, blocks=_take_blocks(q, count), steps=steps)

    others = [n for n in range(1, 9) if n != L and own_blocks in (0, n) and not only]
    yield candidates(L, 0, 0)
    yield itertools.chain(candidates(L, 1, 1), *(candidates(count, 0, 0) for count in others))
    if q.blocks and not only:
        return  # with real blocks each candidate is a full forward pass: pairs take seconds
    yield itertools.chain(candidates(L, 2, 2), *(candidates(count, 1, 1) for count in others))


def _model_right(q: Query) -> Iterator[Function]:
    for layout, _ in _model_layouts(q):
        yield partial(model.stack, w=q.assign(layout), blocks=_take_blocks(q, q.sizes["L"]))


def _model_layouts(q: Query) -> Iterator[tuple[layouts.Layout, str]]:
    return layouts.model_layouts(q.shapes, q.sizes["V"], q.sizes["T_max"], q.sizes["d"])


def _take_blocks(q: Query, count: int) -> Sequence[Function]:
    return q.blocks[:count] if q.blocks else [lambda x: x @ q.probes["block"]] * count


_COMPONENTS: dict[str, tuple[Callable[[Query, Names], Levels], Callable[[Query], Iterator[Function]]]] = {
    "attention": (_attention_levels, _attention_right),
    "mlp": (_mlp_levels, _mlp_right),
    "block": (_block_levels, _block_right),
    "model": (_model_levels, _model_right),
}


def _combine_mistakes(
    max_mistakes: int, only: Names, *components: str, min_mistakes: int = 0
) -> Iterator[tuple[dict[str, str], list[str]]]:
    """Yield ``steps`` with ``min_mistakes`` to ``max_mistakes`` mistakes, and the names of these.

    Two mistakes change different steps. Without any, the accepted variants come too. If ``only`` has names, only these
    mistakes are used.
    """
    rows = [
        (row, variant) for row in mistakes.of(*components) for variant in row.variants if not only or row.name in only
    ]
    if min_mistakes == 0:
        yield {}, []
        yield from (({row.step: variant}, [row.name]) for row, variant in rows if row.accepted)
    wrong = [(row, variant) for row, variant in rows if not row.accepted]
    if min_mistakes <= 1 <= max_mistakes:
        yield from (({row.step: variant}, [row.name]) for row, variant in wrong)
    if max_mistakes > 1:
        for (first, variant), (second, other) in itertools.combinations(rows, 2):
            if first.step != second.step and not (first.accepted and second.accepted):
                yield {first.step: variant, second.step: other}, [first.name, second.name]


class _Cache(Iterable[Item]):
    """Cache an iterator's items as they are requested, so that it can be iterated again."""

    def __init__(self, rest: Iterator[Item]) -> None:
        self._kept: list[Item] = []
        self._rest = rest

    def __iter__(self) -> Iterator[Item]:
        yield from self._kept
        for item in self._rest:
            self._kept.append(item)
            yield item
