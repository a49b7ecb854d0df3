"""Explain a student's class by known mistakes with which the oracle computes the same outputs, the fewest first.

Each component has levels: the correct model with its accepted variants, one mistake, two. All explanations of the first
level that has any are returned, so that the caller can tell them apart by another observation, or show them all.
"""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, cached_property, partial
from typing import TypeVar

import numpy as np
import torch
from torch import Tensor

from autograder.assignment import mistakes
from autograder.assignment.mistakes import Mistake
from autograder.assignment.oracle import layouts, model
from autograder.assignment.oracle.model import RIGHT, Function, Steps

MAX_COMPARISONS = 20_000  # comparisons for one query, about 0.1 ms each
ROUNDING = 1e-4  # of the largest entry; closer to the correct model than this is different rounding, not two mistakes
MAX_NEAREST = 48  # layouts to try when looking for the nearest
Case = tuple[Tensor, Tensor]  # an input, and the output of the student's class
Apply = Callable[[dict[str, Tensor], Tensor], Tensor]  # a function of the weights and the input
Rows = frozenset[Mistake]
Item = TypeVar("Item")


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
    expected: Rows = frozenset()  # mistakes found by other checks, tried on their own first
    max_layouts: int | None = None  # tried; None means all
    max_mistakes: int = 2  # at most two
    blocks: Sequence[Function] = ()  # a whole model's blocks; if empty, a stub for each
    tried: list[int] = field(default_factory=lambda: [0])
    taken: dict[tuple[str, layouts.Source, int], Tensor] = field(default_factory=dict)

    @cached_property
    def stacks(self) -> layouts.Stacks:
        """The tensors as layouts name them."""
        return layouts.stack_both_ways(self.shapes)

    def fits(self, function: Function, cases: list[Case] | None = None) -> bool:
        """Return whether ``function`` gives the student's outputs, each entry to the tolerance times the largest."""
        return self.measure_gap(function, cases) <= self.tolerance

    def fit_each(self, apply: Apply, weights: Sequence[dict[str, Tensor]], cases: list[Case]) -> list[bool]:
        """Return for each of ``weights`` whether ``apply`` gives the student's outputs, in one batch if possible."""
        with contextlib.suppress(RuntimeError, IndexError, KeyError):  # weights or steps that can't be batched
            stacked = {name: torch.stack([w[name] for w in weights]) for name in weights[0]}
            fitting = torch.ones(len(weights), dtype=torch.bool)
            for x, y in cases:
                own = torch.func.vmap(lambda w, x=x: apply(w, x))(stacked)
                if own.shape[1:] != y.shape:
                    fitting[:] = False
                    break
                gaps = (own - y).abs().flatten(1).amax(1) / max(1.0, float(y.abs().max()))
                fitting &= gaps <= self.tolerance
            self._count(len(weights))
            return [bool(fits) for fits in fitting]
        return [self.fits(partial(apply, w), cases) for w in weights]

    def _count(self, comparisons: int) -> None:
        self.tried[0] += comparisons
        if self.tried[0] > MAX_COMPARISONS:
            raise Exhausted

    def measure_gap(self, function: Function, cases: list[Case] | None = None) -> float:
        """Return the largest distance from the student's outputs, or the first one above ROUNDING."""
        self._count(1)
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
        except (RuntimeError, IndexError, KeyError):  # KeyError: a step needs a role that the layout lacks
            return float("inf")
        if own.shape != y.shape:
            return float("inf")
        gap = float((own - y).abs().max()) / max(1.0, float(y.abs().max()))
        return gap if gap == gap else float("inf")  # NaN fits nothing

    def assign(self, layout: layouts.Layout, prefix: str = "", heads: int = 0) -> dict[str, Tensor]:
        """Return the tensors by the oracle's names, as ``layout`` assigns them for H or another number of heads."""
        lengths = layouts.axis_sizes(self.sizes | ({"H": heads} if heads else {}))
        for role, source in layout.items():
            if (role, source, heads) not in self.taken:
                entries = layouts.find_entries(role, source, self.stacks, lengths)
                self.taken[role, source, heads] = self.flat[torch.from_numpy(entries)]
        return {f"{prefix}{role}": self.taken[role, source, heads] for role, source in layout.items()}


WrongStep = tuple[Mistake, int]


@dataclass(frozen=True)
class Explanation:
    """A match: the mistakes, the layout, the number of heads or blocks, and the oracle's steps.

    ``steps`` are rows with the number of one of their ``steps``.
    """

    mistakes: tuple[Mistake, ...]
    layout: layouts.Layout
    count: int = 0
    steps: tuple[WrongStep, ...] = ()


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
    """Return the explanations with the fewest mistakes, if any; if the correct model does not fit, its distance too."""
    levels, right = _COMPONENTS[component]
    found = _find_cheapest(levels(q, q.expected), q) if q.expected else []
    found = found or _find_cheapest(levels(q, frozenset()), q)
    if found and not found[0].mistakes:
        return found, None
    return found, _find_nearest(q, right(q))


def build_function(component: str, q: Query, layout: layouts.Layout, count: int, steps: Steps) -> Function | None:
    """Return what the oracle computes with the tensors of an attention, MLP or block as in a match, if it exists."""
    try:
        w = q.assign(layout, "a.", count)
    except (KeyError, ValueError):
        return None
    if component == "block":
        return _compose_block(q, w, steps, "a")
    return partial({"attention": model.attention, "mlp": model.mlp}[component], w=w, at="a", steps=steps)


def _find_cheapest(levels: Levels, q: Query) -> list[Explanation]:
    """Return the explanations of the first level that has any, one for each set of mistakes."""
    found: dict[Rows, Explanation] = {}
    close = False
    try:
        for number, level in enumerate(itertools.islice(levels, q.max_mistakes + 1)):
            for candidate, function in level:
                rows = frozenset(candidate.mistakes)
                if rows in found:
                    continue
                gap = q.measure_gap(function)
                if gap <= q.tolerance:
                    found[rows] = candidate
                    if not rows:
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


def _attention_levels(q: Query, only: Rows) -> Levels:
    """Yield candidates that fit at T=1, where queries and keys don't matter; a wrong number of heads is one mistake."""
    d, H = q.sizes["d"], q.sizes["H"]
    single = [case for case in q.cases if case[0].shape[1] == 1]
    common: dict[int, list[layouts.Layout]] = {}  # by the number of heads
    fits_single: dict[Hashable, bool] = {}  # of one layout
    alike: dict[Hashable, list[list[int]]] = {}  # the numbers of common layouts that agree at T=1
    fitting: dict[Hashable, list[int]] = {}  # the numbers of all common layouts that fit at T=1
    fits_any: set[int] = set()  # the numbers of those that fit with any single mistake

    def make_candidate(layout: layouts.Layout, heads: int, changed: tuple[WrongStep, ...]) -> Candidate:
        wrong = () if heads == H else (mistakes.attention.HEADS_WRONG_NUMBER,)
        shown = (*wrong, *_find_tensor_mistakes(layout, heads), *_rows(changed))
        function = partial(model.attention, w=q.assign(layout, "a.", heads), at="a", steps=_combine_steps(changed))
        return Explanation(shown, layout, heads, changed), function

    def right() -> Iterator[Candidate]:
        """Yield all layouts, the rare ones too: with mistakes their combinations would be too many."""
        found = _Cache(itertools.islice(layouts.attention_layouts(q.shapes, d, H), q.max_layouts))
        for changed in _combine_mistakes(0, only, "attention"):
            for layout in found:
                wrong = _add_implied(changed, "v" in layout)
                steps, roles = _keep_single_token_steps(_combine_steps(wrong))
                key = steps, "k" in layout, *map(layout.get, roles or layout)
                if key not in fits_single:
                    w = q.assign(layout, "a.")
                    fits_single[key] = q.fits(partial(model.attention, w=w, at="a", steps=steps), single)
                if fits_single[key]:
                    yield make_candidate(layout, H, wrong)

    def find_fitting(heads: int, steps: Steps, has_values: bool, among: set[int] | None) -> list[int]:
        """Return the numbers of the common layouts, with or without values, that fit at T=1."""
        steps, roles = _keep_single_token_steps(steps)
        if heads != H and not roles:
            return []  # too many to try
        if heads not in common:
            found = layouts.attention_layouts(q.shapes, d, heads, rare=False)
            common[heads] = list(itertools.islice(found, q.max_layouts))
        kind = heads, has_values, among is None, roles
        if kind not in alike:
            groups: dict[Hashable, list[int]] = {}  # layouts that differ only in queries and keys agree at T=1
            for number, layout in enumerate(common[heads]):
                if ("v" in layout) == has_values and (among is None or number in among):
                    groups.setdefault(("k" in layout, *map(layout.get, roles or layout)), []).append(number)
            alike[kind] = [*groups.values()]
        if (kind, steps) not in fitting:
            weights = [q.assign(common[heads][numbers[0]], "a.", heads) for numbers in alike[kind]]
            fits = q.fit_each(lambda w, x: model.attention(x, w, "a", steps), weights, single)
            fitting[kind, steps] = [*itertools.chain(*itertools.compress(alike[kind], fits))]
        return fitting[kind, steps]

    def wrong(heads: int, count: int) -> Iterator[Candidate]:
        among = fits_any if count > 1 else None
        for changed in _combine_mistakes(count, only, "attention", min_mistakes=count):
            for has_values in (True, False):
                steps = _add_implied(changed, has_values)
                numbers = find_fitting(heads, _combine_steps(steps), has_values, among)
                if heads == H:
                    fits_any.update(numbers)
                yield from (make_candidate(common[heads][number], heads, steps) for number in numbers)

    others = [h for h in range(1, d + 1) if d % h == 0 and h != H and not only]
    yield right()
    yield itertools.chain(wrong(H, 1), *(wrong(heads, 0) for heads in others))
    yield itertools.chain(wrong(H, 2), *(wrong(heads, 1) for heads in others))


def _add_implied(changed: tuple[WrongStep, ...], has_values: bool) -> tuple[WrongStep, ...]:
    """Add the mistake that a layout without values implies: the input itself must serve."""
    if has_values or _combine_steps(changed).value is not RIGHT.value:
        return changed
    return (mistakes.attention.VALUE_IS_INPUT, 0), *changed


@cache
def _keep_single_token_steps(steps: Steps) -> tuple[Steps, tuple[str, ...]]:
    """Return the steps that matter at T=1, where most make every attention weight 1, and the roles that they use.

    No roles means that all may be used.
    """
    heads = torch.arange(8.0).reshape(2, 2, 1, 2)  # (B, H, T, d_head)
    split = steps.split(heads)
    if not (steps.softmax(steps.mask(split @ split.mT)) == 1).all():
        return steps, ()
    single = replace(steps, scale=RIGHT.scale, mask=RIGHT.mask, softmax=RIGHT.softmax, attend=RIGHT.attend)
    if steps.split(heads).equal(heads):
        single = replace(single, split=RIGHT.split)
    if steps.merge(heads).equal(RIGHT.merge(heads)):
        single = replace(single, merge=RIGHT.merge)
    return single, () if steps.value is not RIGHT.value else ("v", "o", "v.bias", "o.bias")


def _attention_right(q: Query) -> Iterator[Function]:
    found = layouts.attention_layouts(q.shapes, q.sizes["d"], q.sizes["H"])
    for layout in itertools.islice(found, q.max_layouts):
        if set(layouts.ROLES) <= layout.keys():
            yield partial(model.attention, w=q.assign(layout, "a."), at="a")


def _find_tensor_mistakes(layout: layouts.Layout, H: int) -> list[Mistake]:
    """Return the mistakes that the tensors alone show."""
    found = []
    if "q.bias" in layout:
        found.append(mistakes.attention.QKV_BIASES)
    if not layout["o"].tensors:
        found.append(mistakes.attention.PROJECTION_MISSING)
    elif "o.bias" not in layout:
        found.append(mistakes.attention.ATTENTION_PROJ_BIAS_MISSING)
    shared = [H > 1 and "h" not in layout[role].axes for role in layouts.ROLES if role in layout]
    if any(shared):
        found.append(mistakes.attention.HEADS_SHARED if all(shared) else mistakes.attention.HEADS_SHARE_KEYS_VALUES)
    if "w" in layout["q"].axes:
        found.append(mistakes.attention.HEADS_FULL_WIDTH)
    return found


# --- MLP --------------------------------------------------------------------------------------------------------------


MLP_BIASES = {"up.bias": mistakes.mlp.MLP_UP_BIAS_MISSING, "down.bias": mistakes.mlp.MLP_DOWN_BIAS_MISSING}


def _mlp_levels(q: Query, only: Rows) -> Levels:
    d = q.sizes["d"]
    known_layouts = [(layout, q.assign(layout, "m.")) for layout in layouts.mlp_layouts(q.shapes, d)]
    for count in range(3):
        candidates = []
        for changed in _combine_mistakes(count, only, "mlp", min_mistakes=count):
            steps = _combine_steps(changed)
            for layout, w in known_layouts:
                implied = [mistakes.mlp.MLP_WIDTH] if w["m.up"].shape[1] != 4 * d else []
                without = [row for role, row in MLP_BIASES.items() if role not in layout]
                implied += [mistakes.mlp.MLP_BIASES_MISSING] if len(without) == 2 else without
                found = Explanation((*implied, *_rows(changed)), layout, steps=changed)
                candidates.append((found, partial(model.mlp, w=w, at="m", steps=steps)))
        yield candidates


def _mlp_right(q: Query) -> Iterator[Function]:
    for layout in layouts.mlp_layouts(q.shapes, q.sizes["d"]):
        yield partial(model.mlp, w=q.assign(layout, "m."), at="m")


# --- block ------------------------------------------------------------------------------------------------------------

UNUSED_NORM = {mistakes.block.BLOCK_FIRST_NORM_MISSING, mistakes.block.BLOCK_SECOND_NORM_MISSING}


def _block_levels(q: Query, only: Rows) -> Levels:
    """Yield the block's composition around stubs for attention and MLP."""
    known_layouts = list(_norm_layouts(q))
    for count in range(3):
        yield (
            (
                Explanation(_merge_norm_mistakes(implied, _rows(changed)), layout, steps=changed),
                _compose_block(q, w, _combine_steps(changed)),
            )
            for changed in _combine_mistakes(count, only, "block", "norm", min_mistakes=count)
            for layout, w, implied in known_layouts
        )


def _block_right(q: Query) -> Iterator[Function]:
    for _, w, _ in _norm_layouts(q):
        yield _compose_block(q, w, RIGHT)


def _norm_layouts(q: Query) -> Iterator[tuple[layouts.Layout, dict[str, Tensor], Mistake | None]]:
    for layout, implied in layouts.norm_layouts(layouts.stack_tensors(q.shapes), q.sizes["d"], ["ln1", "ln2"]):
        yield layout, q.assign(layout, "b."), implied


def _compose_block(q: Query, w: dict[str, Tensor], steps: Steps, at: str = "b") -> Function:
    attn, mlp = (lambda x: x @ q.probes["attention"]), (lambda x: x @ q.probes["mlp"])
    return partial(model.compose, w=w, at=at, attn=attn, mlp=mlp, steps=steps)


def _merge_norm_mistakes(implied: Mistake | None, rows: list[Mistake]) -> tuple[Mistake, ...]:
    """Merge the norms' mistakes from tensors and from values; merge two that together are one known mistake."""
    if implied is mistakes.norm.NORM_BIAS_MISSING and mistakes.norm.NORM_NOT_CENTRED in rows:
        return (mistakes.norm.NORM_RMS, *(row for row in rows if row is not mistakes.norm.NORM_NOT_CENTRED))
    if implied is mistakes.norm.NORM_WITHOUT_AFFINE and mistakes.block.BLOCK_NO_NORMS in rows:
        return (mistakes.block.BLOCK_NORMS_MISSING, *(row for row in rows if row is not mistakes.block.BLOCK_NO_NORMS))
    if implied is mistakes.norm.NORM_SHARED and UNUSED_NORM & {*rows}:
        return tuple(rows)  # the other norm is unused, so it may be missing
    return (*([implied] if implied else []), *rows)


# --- model ------------------------------------------------------------------------------------------------------------


def _model_levels(q: Query, only: Rows) -> Levels:
    """Yield the model's composition around a stub for each block; a wrong number of blocks is one mistake."""
    L, own_blocks = q.sizes["L"], q.sizes.get("blocks", 0)
    known_layouts = _Cache((layout, q.assign(layout), implied) for layout, implied in _model_layouts(q))

    def candidates(count: int, max_mistakes: int, min_mistakes: int) -> Iterator[Candidate]:
        for changed in _combine_mistakes(max_mistakes, only, "norm", "model", min_mistakes=min_mistakes):
            steps, rows = _combine_steps(changed), _rows(changed)
            if mistakes.model.LAST_BLOCK_UNUSED in rows and own_blocks not in (0, L):
                continue  # no block is unused: there are fewer
            for layout, w, implied in known_layouts:
                norm_absent = mistakes.model.FINAL_NORM_UNUSED in rows and implied is mistakes.norm.NORM_WITHOUT_AFFINE
                is_fixed = mistakes.model.POSITIONS_SINUSOIDAL in rows
                more = [mistakes.model.POSITIONS_MISSING] if not layout["pos"].tensors and not is_fixed else []
                more += [mistakes.model.HEAD_BIAS] if "head.bias" in layout else []
                more += [mistakes.model.BLOCKS_WRONG_NUMBER] if count != L else []
                more += [mistakes.parameters.FINAL_NORM_MISSING] if norm_absent else []
                own = None if norm_absent else implied
                by_values = [row for row in rows if not norm_absent or row is not mistakes.model.FINAL_NORM_UNUSED]
                found = Explanation((*more, *_merge_norm_mistakes(own, by_values)), layout, count, changed)
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


def _model_layouts(q: Query) -> Iterator[tuple[layouts.Layout, Mistake | None]]:
    return layouts.model_layouts(q.shapes, q.sizes["V"], q.sizes["T_max"], q.sizes["d"])


def _take_blocks(q: Query, count: int) -> Sequence[Function]:
    if q.blocks:
        return q.blocks[:count]
    probes = q.probes["block"].reshape(-1, *q.probes["block"].shape[-2:])  # one for all blocks, or one for each
    return [partial(torch.matmul, other=probes[i % len(probes)]) for i in range(count)]


_COMPONENTS: dict[str, tuple[Callable[[Query, Rows], Levels], Callable[[Query], Iterator[Function]]]] = {
    "attention": (_attention_levels, _attention_right),
    "mlp": (_mlp_levels, _mlp_right),
    "block": (_block_levels, _block_right),
    "model": (_model_levels, _model_right),
}


def _combine_mistakes(
    max_mistakes: int, only: Rows, *components: str, min_mistakes: int = 0
) -> Iterator[tuple[WrongStep, ...]]:
    """Yield ``min_mistakes`` to ``max_mistakes`` mistakes, with the number of their ``steps``.

    Two mistakes change different steps. The accepted variants count as zero mistakes. If ``only`` has rows, only these
    mistakes are used.
    """
    steps = [
        (row, number) for row in mistakes.of(*components) for number in range(len(row.steps)) if not only or row in only
    ]
    if min_mistakes == 0:
        yield ()
        yield from ((step,) for step in steps if step[0].accepted)
    if min_mistakes <= 1 <= max_mistakes:
        yield from ((step,) for step in steps if not step[0].accepted)
    if max_mistakes > 1:
        changes = {step: {*_combine_steps((step,)).changes()} for step in steps}
        for first, second in itertools.combinations(steps, 2):
            if not (first[0].accepted and second[0].accepted) and not changes[first] & changes[second]:
                yield first, second


def _rows(changed: Iterable[WrongStep]) -> list[Mistake]:
    return [row for row, _ in changed]


@cache
def _combine_steps(changed: tuple[WrongStep, ...]) -> Steps:
    return model.combine(row.steps[number] for row, number in changed)


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
