"""Compare the full model with the oracle's composition of its classes, from their layouts and mistakes.

Each class is compared in isolation, around stubs. This file tests that GPT with its real blocks is the composition of
the classes, also at the course configuration. The oracle then knows the student's logits for any weights, and gives the
other side of every comparison. If no layout is known, the checks compare two of the student's processes.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from autograder.assignment.measure import outputs, parameter_usage
from autograder.assignment.measure.comparison import ROUNDED, Comparison, format_percent
from autograder.assignment.mistakes import Mistake
from autograder.assignment.oracle import layouts
from autograder.assignment.oracle.client import ClassLayout, ComposedModel, ModelLayout, Oracle
from autograder.assignment.sizes import Dims
from autograder.grading.verdict import Failed
from autograder.sandbox.remote.errors import StudentError
from autograder.sandbox.remote.proxy import ModuleProxy
from autograder.sandbox.remote.replies import Parameter
from autograder.sandbox.remote.student_code import StudentCode

CLOSE = (
    1e-3  # relative to the largest logit: through all blocks, rounding and a different eps in each norm add up to 1e-4
)
ROUGH = 3e-2  # relative to the largest logit: the error of bfloat16
BATCHES = (9, 11, 13, 15, 17, 19)  # rows of the short case: not a multiple of any likely group size
SHORT = 9  # positions, enough to confirm that a known model is the right one
NEARLY = 0.95  # fraction of the blocks' parameters: the smallest tensors are not tested
UNUSED = "Does forward apply every block, at every size?"
ARGUMENTS = "Do Block and GPT pass every size on, or is one hard-coded?"

Forward = Callable[[np.ndarray], np.ndarray]  # tokens (B, T) -> logits (B, T, V)


@dataclass(frozen=True)
class WholeModel:
    """The result of comparing the full model.

    ``layout`` is None if GPT is not known to be the composition of its classes. ``difference`` describes a known
    difference from that composition, and ``causes`` are the mistakes that explain it. ``unused`` describes parameters
    without effect at the course configuration only.
    """

    student: StudentCode
    oracle: Oracle
    layout: ModelLayout | None = None
    order: tuple[int, ...] = ()  # the blocks' numbers in the listing, in the order of application
    difference: str = ""
    causes: tuple[Mistake, ...] = ()
    unused: str = ""
    without_blocks: bool = False  # whether nearly no parameter of the blocks has an effect

    @property
    def mistakes(self) -> bool:
        """True if the layout includes a mistake, named by its class's own check."""
        return self.layout is not None and any(part.steps for part in self.layout.parts.values())

    def block_parameters(self, model: ModuleProxy, n: Dims) -> set[str]:
        """Return the names of the parameters in the blocks of ``model``, a GPT of any sizes; none if unknown."""
        layout = self._at(model, n)
        return {name for block in layout.blocks for names in block.values() for name in names} if layout else set()

    def composed(self, model: ModuleProxy, n: Dims, weights: Mapping[str, np.ndarray]) -> ComposedModel | None:
        """Compose the oracle's version of ``model``, a GPT of any sizes, with these ``weights``; None if unknown."""
        layout = self._at(model, n)
        return self.oracle.compose(layout, weights) if layout and layout.names <= weights.keys() else None

    def forward(
        self, model: ModuleProxy, n: Dims, weights: Mapping[str, np.ndarray], rng: np.random.Generator
    ) -> Forward | None:
        """Return the oracle's forward for ``model``, a GPT of any sizes that has all these ``weights``.

        Return None if the forward is unknown, or if the model differs from it on a first input.
        """
        known = self.composed(model, n, weights)
        if known is None:
            return None

        def own(idx: np.ndarray) -> np.ndarray:
            return outputs.require_logits(model(idx), (*idx.shape, n.V))

        def forward(idx: np.ndarray) -> np.ndarray:
            logits = known.logits(idx)
            return own(idx) if logits is None else logits  # the model's own error, if any, explains the difference

        idx = rng.integers(0, n.V, (2, min(n.T_max, SHORT)))
        try:
            right = forward(idx)
            gap = np.abs(own(idx) - right).max()
        except (Failed, StudentError):
            return None
        return forward if gap <= CLOSE * max(1.0, float(np.abs(right).max())) else None

    def _at(self, model: ModuleProxy, n: Dims) -> ModelLayout | None:
        """Return the layout of ``model`` at its sizes, if known."""
        if self.layout is None or self.layout.sizes == n.arguments():
            return self.layout
        found = assign_blocks(self.student, self.layout.parts, model, n)
        order = {(*range(len(self.order)),): range(n.L), (*reversed(range(len(self.order))),): range(n.L)[::-1]}
        if found is None or self.order not in order or not _has_names(self.layout.parts["model"], found.own):
            return None
        return replace(found, blocks=tuple(found.blocks[i] for i in order[self.order]))


def compare_whole_model(
    student: StudentCode,
    oracle: Oracle,
    comparisons: Mapping[str, Comparison],
    course: Dims,
    small: Dims,
    rng: np.random.Generator,
) -> WholeModel:
    """Compare GPT with the composition of its classes at the course configuration; if it differs, find out why."""
    whole = compare_at(student, oracle, comparisons, course, rng)
    if not whole.difference:
        return whole
    if (again := compare_at(student, oracle, comparisons, small, rng)).difference:
        return again
    try:
        model = student.shared("GPT", course.arguments())
        unused = sum(p.size for p in parameter_usage.unused_parameters(model, course, rng))
        blocks = course.L * student.shared("Block", {"d": course.d, "H": course.H, "T_max": course.T_max}).numel
    except (Failed, StudentError):
        return whole
    if not unused:
        return whole
    message = f"At {course}, {unused:,} of the {model.numel:,} parameters don't affect any logit."
    return replace(whole, unused=message, without_blocks=unused > NEARLY * blocks)


def compare_at(
    student: StudentCode,
    oracle: Oracle,
    comparisons: Mapping[str, Comparison],
    n: Dims,
    rng: np.random.Generator,
) -> WholeModel:
    """Compare GPT at ``n`` with the composition of the classes in ``comparisons``, in float32, the dtype it runs in."""
    unknown = WholeModel(student, oracle)
    if not {"attention", "mlp", "block", "model"} <= comparisons.keys() or not all(
        map(_is_known, comparisons.values())
    ):
        return unknown
    parts = {component: _class_layout(comparisons[component]) for component in ("attention", "mlp", "block")}
    expected = _deducted(comparisons["model"].mistakes)
    # B and one T are drawn, so that a model cannot know the sizes of the comparison; one case is short, for a quick
    # search for mistakes, and one has full length.
    batches = int(rng.choice(BATCHES)), int(rng.integers(2, 5))
    shapes = [(batches[0], min(SHORT, n.T_max)), (batches[1], int(rng.integers(n.T_max // 8 + 1, n.T_max)))]
    tokens = [rng.integers(0, n.V, shape) for shape in (*shapes, (2, n.T_max))]
    try:
        model = student.shared("GPT", n.arguments())
        layout = assign_blocks(student, parts, model, n)
        if layout is None:
            return unknown
        # The class's own check left two kinds of tensor at their initial values: learnt scales, which match the formula
        # only there, and tensors without effect.
        kept = comparisons["model"].left_out
        layout = replace(layout, own=tuple(name for name in layout.own if name not in kept))
        weights = {name: value for name, value in draw_initial_like_weights(model, rng).items() if name not in kept}
        model.push(weights)
        cases = [(idx, outputs.require_logits(model(idx), (*idx.shape, n.V)).astype(np.float32)) for idx in tokens]
    except (Failed, StudentError):
        return unknown  # the checks report the exception
    if not layout.names <= weights.keys():
        return unknown
    own = {name: weights[name] for name in layout.own}

    def compose_and_order(part: ClassLayout) -> tuple[ComposedModel | None, tuple[int, ...]]:
        """Compose GPT with its own tensors laid out by ``part``; return it and the block order that fits ``cases``."""
        composed = oracle.compose(replace(layout, parts=parts | {"model": part}), weights)
        return composed, composed.block_order(cases, CLOSE) if composed else ()

    part = _class_layout(comparisons["model"])
    composed, order = compose_and_order(part) if _has_names(part, layout.own) else (None, ())
    if composed and order:
        return _known_model(student, oracle, composed.layout, order)
    if composed and composed.block_order(cases, ROUGH) and _same_in_float64(student, oracle, composed, weights, n):
        return unknown  # the model casts to a lower precision
    blocks = composed or oracle.compose(layout, weights)
    if blocks is None:
        return unknown
    # Some mistakes of GPT show only around its real blocks.
    sizes = n.arguments() | {"blocks": n.L}
    found = oracle.identify("model", own, cases[:1], sizes, {}, CLOSE, expected, blocks=blocks)
    same_mistakes = [match for match in found.matches if _deducted(match.mistakes) == expected]
    for match in same_mistakes[:1]:  # GPT's own tensors may be laid out differently than in GPT's own check
        again, order = compose_and_order(ClassLayout((*own,), match.layout, match.steps))
        if again and order:
            return _known_model(student, oracle, again.layout, order)
    others = {row for match in found.matches for row in _deducted(match.mistakes)} - expected
    if not others and any(_deducted(part.mistakes) for part in comparisons.values()):
        return unknown  # some mistakes amplify rounding, so a difference proves nothing
    gap = f" by up to {format_percent(found.gap)} of the largest" if found.gap is not None else ""
    return WholeModel(
        student,
        oracle,
        difference=f"At {n}, the logits differ from what your own blocks compute one after another{gap}.",
        causes=tuple(sorted(others, key=lambda row: row.name)) if len(found.matches) == 1 else (),
    )


def _same_in_float64(
    student: StudentCode, oracle: Oracle, composed: ComposedModel, weights: Mapping[str, np.ndarray], n: Dims
) -> bool:
    """Return whether GPT is the composition in float64, where casts to a lower precision do not apply."""
    wide = {name: value.astype(np.float64) for name, value in weights.items()}
    idx = np.arange(2 * n.T_max).reshape(2, n.T_max) % n.V
    try:
        model = student.build("GPT", n.arguments(), double=True)
        model.push(wide)
        logits = outputs.require_logits(model(idx), (*idx.shape, n.V)).astype(np.float64)
    except (Failed, StudentError):
        return False
    precise = oracle.compose(composed.layout, wide)
    return precise is not None and bool(precise.block_order([(idx, logits)], ROUNDED))


def _known_model(student: StudentCode, oracle: Oracle, layout: ModelLayout, order: tuple[int, ...]) -> WholeModel:
    return WholeModel(student, oracle, replace(layout, blocks=tuple(layout.blocks[i] for i in order)), order)


def draw_initial_like_weights(model: ModuleProxy, rng: np.random.Generator) -> dict[str, np.ndarray]:
    """Draw all parameters but masks: matrices about as large as initial ones, gains and biases around 1."""
    kept = outputs.mask_parameters(model)
    few = [p for p in model.parameters if not p.is_matrix and p.name not in kept]
    vectors = {p.name: np.asarray(np.float32(0.5) + rng.random(p.shape, np.float32)) for p in few}
    return vectors | outputs.random_matrices(model, rng, 1.0, frozen=True)


def assign_blocks(
    student: StudentCode, parts: Mapping[str, ClassLayout], model: ModuleProxy, n: Dims
) -> ModelLayout | None:
    """Assign the tensors of ``model`` to the parts of each block by name and shape; None if that fails."""
    sizes = {"d": n.d, "H": n.H, "T_max": n.T_max}
    try:
        classes = {
            "attention": student.shared("MultiHeadAttention", sizes),
            "mlp": student.shared("MLP", {"d": n.d}),
            "block": student.shared("Block", sizes),
        }
    except StudentError:
        return None
    block = classes["block"].parameters
    local: dict[str, tuple[str, ...]] = {}  # names of each part's tensors in its class
    inner: dict[str, tuple[str, ...]] = {}  # names in a block
    for component in ("attention", "mlp"):
        listed = _compared_tensors(classes[component].parameters, parts[component])
        found = prefixes(block, listed) or prefixes(block, _without_common_prefix(listed))
        if len(found) != 1 or not layouts.uses_all(parts[component].layout, parameter_usage.shapes(listed)):
            return None
        local[component], inner[component] = tuple(p.name for p in listed), found[0]
    taken = {name for names in inner.values() for name in names}
    masks = {p.name for p in block if p.mask}
    inner["block"] = tuple(p.name for p in block if p.name not in taken | masks)
    local["block"] = inner["block"]
    if not _has_names(parts["block"], inner["block"]):
        return None
    in_model = prefixes(model.parameters, block)
    if len(in_model) != n.L:
        return None
    blocks = []
    for names in in_model:
        there = dict(zip((p.name for p in block), names, strict=True))
        blocks.append({component: tuple(there[name] for name in part) for component, part in inner.items()})
    in_blocks = {name for names in in_model for name in names}
    own = tuple(p.name for p in model.parameters if p.name not in in_blocks)
    return ModelLayout(n.arguments(), parts, local, tuple(blocks), own)


def prefixes(whole: Sequence[Parameter], part: Sequence[Parameter]) -> list[tuple[str, ...]]:
    """Return the names that the tensors of ``part`` have in ``whole``, once for each prefix under which all exist."""
    if not part:
        return []
    shapes = {p.name: p.shape for p in whole}
    first = part[0].name
    found = []
    for name in shapes:
        at = name.removesuffix(first)
        if (
            (at.endswith(".") or not at)
            and name == at + first
            and all(shapes.get(at + p.name) == p.shape for p in part)
        ):
            found.append(tuple(at + p.name for p in part))
    return found


def _without_common_prefix(part: Sequence[Parameter]) -> list[Parameter]:
    """Drop a prefix that all tensors share, such as that of a class that only wraps another."""
    outer = {p.name.split(".")[0] for p in part}
    shorter = [p._replace(name=p.name.partition(".")[2]) for p in part]
    return shorter if len(outer) == 1 and all(p.name for p in shorter) else []


def _compared_tensors(parameters: Sequence[Parameter], part: ClassLayout) -> list[Parameter]:
    """Return the tensors that the class's own check compared: all but masks."""
    return [p for p in parameters if not p.mask or p.name in part.names]


def _has_names(part: ClassLayout, names: Sequence[str]) -> bool:
    """Return whether ``names`` are those that the class's own check compared, up to numbers in them."""
    return [re.sub("[0-9]+", "*", name) for name in part.names] == [re.sub("[0-9]+", "*", name) for name in names]


def _deducted(rows: Collection[Mistake]) -> set[Mistake]:
    """Return the mistakes among ``rows`` that cost points."""
    return {row for row in rows if not row.accepted}


def _is_known(comparison: Comparison) -> bool:
    """Return whether one explanation fits the class, with the requested number of heads and blocks."""
    count = {"attention": comparison.sizes.get("H"), "model": comparison.sizes.get("L")}.get(comparison.component, 0)
    matches = comparison.findings.matches
    same_mistakes = len({frozenset(_deducted(match.mistakes)) for match in matches}) == 1
    return same_mistakes and matches[0].count == count and not comparison.noise


def _class_layout(comparison: Comparison) -> ClassLayout:
    match = comparison.match
    assert match is not None
    names = tuple(p.name for p in comparison.module.parameters if p.name in comparison.weights)
    return ClassLayout(names, match.layout, match.steps)
