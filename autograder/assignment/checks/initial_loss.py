"""The initial loss, and the scaling of the projections that add to the residual stream."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from importlib import resources

import numpy as np
import pytest

from autograder.assignment import mistakes
from autograder.assignment.measure import comparison, outputs, whole_model
from autograder.assignment.measure import parameter_usage as claims_module
from autograder.assignment.measure.numeric import cross_entropy, uniform_cross_entropy
from autograder.assignment.measure.parameter_usage import Claims
from autograder.assignment.measure.whole_model import WholeModel
from autograder.assignment.mistakes import Mistake
from autograder.assignment.oracle.layouts import Layout, same_layout
from autograder.assignment.sizes import Dims, Sizes
from autograder.grading.verdict import Failed, Notes, Partial
from autograder.sandbox.remote.errors import StudentError
from autograder.sandbox.remote.proxy import ModuleProxy
from autograder.sandbox.remote.replies import Parameter
from autograder.sandbox.remote.student_code import StudentCode

pytestmark = [pytest.mark.needs("GPT"), pytest.mark.usefixtures("logits_depend_on_weights")]

BELOW, ABOVE = 0.024, 0.276  # the window around ln V: 4.15 to 4.45 for V=65
BATCH = 1  # rows of T_max tokens: with the mean over all targets, the loss is known to 0.006
ROWS_OF_TEXT = 4  # with one target per position
SEEDS = 3  # the median of three decides if the loss of the first is outside the window
LAYERS = (1, 4)  # between these the scaled projections halve
FACTOR = 0.1  # relative; a standard deviation of 64 x 64 entries is known to 0.011
NEAR = 0.04
EPS_SHOWS = 0.05  # of the largest logit: with embeddings as small as 0.01, another eps in a norm changes 1 %
CLOSE = 0.08  # relative; seven standard errors when one matrix is compared with several
KURTOSIS = 0.5  # half of what is between uniform entries (1.8) and normal ones (3)
OTHER_LAYERS = (2, 3, 5, 6, 7)  # one of these is drawn, so that a factor can't be tailored to LAYERS
MOST_SCALED = 0.6  # of the entries in a block's matrices: the two projections have 5 of 12
ROLES = {
    "o": "the attention's projection",
    "down": "the MLP's down-projection",
    "q": "the queries",
    "k": "the keys",
    "v": "the values",
    "up": "the MLP's up-projection",
}
BESIDE = {"o": ("q", "k", "v"), "down": ("up",)}  # the unscaled matrices in the sublayer of each residual projection
# Standard deviations of usual initialisations by fan-in and fan-out: nn.Linear's own, LeCun, He, Xavier, orthogonal,
# 1/sqrt(d), "small" and GPT-2's.
USUAL: tuple[Callable[[int, int], float], ...] = (
    lambda fan_in, fan_out: 1 / math.sqrt(3 * fan_in),
    lambda fan_in, fan_out: 1 / math.sqrt(fan_in),
    lambda fan_in, fan_out: math.sqrt(2 / fan_in),
    lambda fan_in, fan_out: math.sqrt(2 / (fan_in + fan_out)),
    lambda fan_in, fan_out: 1 / math.sqrt(max(fan_in, fan_out)),
    lambda fan_in, fan_out: 1 / math.sqrt(fan_out),
    lambda fan_in, fan_out: math.sqrt(2 / (5 * fan_out)),
    lambda fan_in, fan_out: 0.02,
)
ALIKE = 0.25  # relative; logits are only roughly normal


def test_window(
    student: StudentCode,
    sizes: Sizes,
    whole: WholeModel,
    claims: Claims,
    deducted: set[str],
    rng: np.random.Generator,
    notes: Notes,
) -> None:
    n, chance = sizes.course, math.log(sizes.course.V)
    low, high = round(chance - BELOW, 2), round(chance + ABOVE, 2)
    text, targets = sample_text(sizes)
    idx = np.concatenate([rng.integers(0, n.V, (BATCH, n.T_max)), text])
    losses: list[float] = []
    for seed in rng.integers(1 << 31, size=SEEDS):
        initial, logits = initial_logits(student, whole, claims.steady, n, int(seed), idx)
        if (logits >= 0).all() and np.allclose(logits.sum(-1), 1, atol=1e-3):
            raise Failed(
                "At every position the logits are between 0 and 1 and sum to 1.",
                causes=[mistakes.named("logits_are_probabilities")],
            )
        losses.append(float(uniform_cross_entropy(logits[:BATCH]).mean()))
        if len(losses) == 1 and low <= losses[0] <= high:
            break
    loss = float(np.median(losses))
    figures = {"random targets": loss, f"ln {n.V}": chance} | expected(n)
    if len(text):
        figures["English text"] = cross_entropy(logits[BATCH:], targets)
    notes.record(losses={name: round(value, 4) for name, value in figures.items()})
    if not low <= loss <= high:
        seen = f"The initial loss is {loss:.2f}; it should be just above ln {n.V} = {chance:.3f}, at most {high}."
        raise Failed(seen, *_because(initial, n, loss, deducted))
    notes.remark(f"{loss:.2f} on random targets, {loss - chance:.2f} above ln {n.V} = {chance:.3f}.")


def test_residual_scaling(
    student: StudentCode,
    deducted: set[str],
    layouts: dict[str, comparison.Comparison],
    rng: np.random.Generator,
    notes: Notes,
) -> None:
    seed = int(rng.integers(1 << 31))
    dims = [Dims(V=11, T_max=8, d=64, H=2, L=L) for L in (*LAYERS, int(rng.choice(OTHER_LAYERS)))]
    sublayers = _sublayers(student, layouts, dims[0])

    def measure(n: Dims) -> Found:
        return _entries(student.build("GPT", n.arguments(), seed=seed), sublayers, n.L, partial(_logits, n=n))

    models = {n.L: measure(n) for n in dims if sublayers}
    residual = [role for role in BESIDE if role != "o" or "projection_missing" not in deducted]
    if not models or not all(role in found for found in models.values() for role in residual):
        _by_sizes(student, dims[0], dims[1], deducted, seed, notes)
        return
    scaling = Scaling(models, _alone(student, sublayers, dims[0], seed), residual, _fans(sublayers))
    notes.record(
        standard_deviations={
            ROLES[role]: [[round(scaling.spread(role, L), 5) for L in LAYERS]] for role in scaling.residual
        }
    )
    try:
        _by_roles(scaling)
    except Failed:
        ignored = _not_drawn(models[dims[1].L], measure(dims[1]))
        if not ignored:
            raise
        _by_roles(replace(scaling, ignored=ignored))
    if residual == ["down"]:
        notes.remark("The MLP's down-projection is scaled by 1/sqrt(2L); your attention has no projection to scale.")
        return
    notes.remark("Both projections of each block are scaled by 1/sqrt(2L), so 2L additions keep the variance of x.")


# --- residual scaling, with the layouts found by the classes' own checks ----------------------------------------------


@dataclass(frozen=True)
class Sublayer:
    """The role of each entry of a class's tensors, at the sizes of this check."""

    parameters: list[Parameter]
    layout: Layout


@dataclass(frozen=True)
class Entries:
    """The standard deviation and kurtosis of a matrix's entries, comparable across sizes."""

    spread: float
    kurtosis: float


Found = Mapping[str, list[Entries]]  # for each role, one entry per block


@dataclass(frozen=True)
class Scaling:
    """The initial matrices of GPT for several L, by role, and those of a Block alone, which cannot know L."""

    models: Mapping[int, Found]
    alone: Found
    residual: list[str]  # the projections that add to the residual stream
    fans: Mapping[str, tuple[int, int]]  # fan-in and fan-out of each
    ignored: Collection[str] = ()  # other matrices whose initial values tell nothing

    def spread(self, role: str, L: int = LAYERS[0]) -> float:
        """Return the standard deviation, averaged over the blocks."""
        return _mean(self.models[L][role])

    def every(self, role: str, factor: Callable[[int], float] = lambda _: 1) -> list[float]:
        """Return the standard deviation in each block for each L, times ``factor(L)``."""
        return [entries.spread * factor(L) for L, found in self.models.items() for entries in found[role]]

    def beside(self, *roles: str) -> list[str]:
        """Return the other matrices in the sublayers of the projections ``roles``, if present."""
        others = [other for role in roles for other in BESIDE[role] if other not in self.ignored]
        return [other for other in others if all(other in found for found in self.models.values())]

    def changes(self, *roles: str) -> list[float]:
        """Return GPT's standard deviations relative to those in a Block alone, at the first L, for known roles."""
        return [self.spread(role) / _mean(self.alone[role]) for role in roles if role in self.alone]

    def entries(self, role: str) -> Entries:
        """Return the statistics in the first model, averaged over the blocks."""
        found = self.models[LAYERS[0]][role]
        return Entries(_mean(found), float(np.mean([entries.kurtosis for entries in found])))


def _sublayers(student: StudentCode, layouts: Mapping[str, comparison.Comparison], n: Dims) -> list[Sublayer]:
    """Find the layouts of attention and MLP at ``n``; an empty list if one is not known."""
    found = []
    for component, name, sizes in (
        ("attention", "MultiHeadAttention", {"d": n.d, "H": n.H, "T_max": n.T_max}),
        ("mlp", "MLP", {"d": n.d}),
    ):
        judged = layouts.get(component)
        if judged is None or judged.match is None or len(judged.comparison.matches) > 1:
            return []
        if judged.match.count != judged.sizes.get("H", 0):
            return []
        known = [(p.name, p.shape) for p in judged.module.parameters if p.name in judged.weights]
        names = {re.sub("[0-9]+", "*", name) for name, _ in known}
        try:
            parameters = [p for p in student.shared(name, sizes).parameters if re.sub("[0-9]+", "*", p.name) in names]
        except StudentError:
            return []
        shapes = claims_module.shapes(parameters)
        layout = same_layout(component, known, judged.sizes, judged.match.layout_index, shapes, sizes)
        if layout is None:
            return []
        found.append(Sublayer(parameters, layout))
    return found


def _fans(sublayers: Iterable[Sublayer]) -> dict[str, tuple[int, int]]:
    roles = {role: at.shape for part in sublayers for role, at in part.layout.items() if role in BESIDE}
    return {role: (math.prod(shape[:-1]), shape[-1]) for role, shape in roles.items()}


def _entries(
    module: ModuleProxy, sublayers: Iterable[Sublayer], blocks: int, run: Callable[[ModuleProxy], np.ndarray]
) -> Found:
    """Measure each role's matrix in every block of ``module``; omit roles without a tensor.

    Of more sublayers than ``blocks``, only those that affect the output ``run(module)`` are measured.
    """
    outputs.require_affordable(module)
    values = module.pull()
    found: dict[str, list[Entries]] = {}
    for part in sublayers:
        listed = [
            names for names in whole_model.prefixes(module.parameters, part.parameters) if values.keys() >= set(names)
        ]
        for names in _with_effect(module, listed, run) if len(listed) > blocks else listed:
            flat = np.concatenate([values[name].reshape(-1) for name in names])
            for role, at in part.layout.items():
                if (at >= 0).all():
                    own = flat[at]
                    spread = _spread(own)
                    squares = np.square((own - own.mean()) / (spread or 1))
                    found.setdefault(role, []).append(Entries(spread, float(np.square(squares).mean())))
    return found


def _with_effect(
    module: ModuleProxy, listed: list[tuple[str, ...]], run: Callable[[ModuleProxy], np.ndarray]
) -> list[tuple[str, ...]]:
    """Return the lists of tensors that affect the output; all of them if that can't be tested."""
    rng = np.random.default_rng(0)
    try:
        weights = outputs.random_weights(module, rng)  # sublayers may start at zero
        module.push(weights)
        before, found = run(module), []
        for names in listed:
            own = {name: weights[name] for name in names if name in weights}
            module.push({name: 2 * value for name, value in own.items()})
            if not np.array_equal(run(module), before):
                found.append(names)
            module.push(own)
    except (Failed, StudentError):
        return listed
    return found or listed


def _logits(model: ModuleProxy, n: Dims) -> np.ndarray:
    idx = np.arange(2 * n.T_max).reshape(2, n.T_max) % n.V
    return outputs.require_logits(model(idx), (*idx.shape, n.V))


def _not_drawn(found: Found, again: Found) -> set[str]:
    """Return the roles whose spread is not finite, or differs between two models of the same seed: chance left it."""
    return {role for role in found if not _close(_mean(found[role]), _mean(again.get(role, [])))}


def _alone(student: StudentCode, sublayers: Iterable[Sublayer], n: Dims, seed: int) -> Found:
    """Measure the nonzero initial matrices of a Block alone; empty if there is no Block."""
    try:
        block = student.build("Block", {"d": n.d, "H": n.H, "T_max": n.T_max}, seed=seed)
        x = np.random.default_rng(0).standard_normal((2, n.T_max, n.d)).astype(np.float32)
        found = _entries(block, sublayers, 1, lambda module: outputs.require_tensor(module(x), x.shape))
        return {role: entries for role, entries in found.items() if _mean(entries) > 0}
    except (Failed, StudentError):
        return {}


def _by_roles(scaling: Scaling) -> None:
    """Raise Partial or Failed unless exactly the residual projections are scaled by 1/sqrt(2L)."""
    few, many = LAYERS
    residual = scaling.residual
    moved = [role for role in scaling.beside("o", "down") if not _even(scaling.spread(role, L) for L in scaling.models)]
    if moved:
        ratio = scaling.spread(moved[0], many) / (scaling.spread(moved[0], few) or math.nan)
        raise Failed(
            f"From L={few} to L={many} the standard deviation changes by a factor of {ratio:.2g} for "
            f"{', '.join(ROLES[role] for role in moved)}.",
            causes=[mistakes.named("scaling_of_other_matrices")],
        )
    unscaled = [role for role in residual if not _even(scaling.every(role, math.sqrt))]
    if unscaled:
        seen = " and ".join(
            f"{scaling.spread(role, few):.3g} to {scaling.spread(role, many):.3g} for {ROLES[role]}"
            for role in unscaled
        )
        causes = _why_unscaled(scaling, unscaled)
        raise (Partial if len(unscaled) < len(residual) else Failed)(
            f"From L={few} to L={many} the standard deviation should halve in every block; it goes from {seen}.",
            "" if causes else "Which factor does GPT multiply them by, and when?",
            causes,
        )
    wrong = _wrong_constants(scaling)
    if wrong:
        right = 1 / math.sqrt(2 * many)
        seen = " and ".join(f"{ROLES[role]} by {factor * right:.3f}" for role, factor in wrong.items())
        by_l = len(wrong) == len(residual) and all(_close(factor, math.sqrt(2)) for factor in wrong.values())
        raise (Partial if len(wrong) < len(residual) else Failed)(
            f"At L={many} GPT scales {seen}; it should be by 1/sqrt(2L) = {right:.3f}.",
            causes=[mistakes.named("scaling_sqrt_L" if by_l else "scaling_wrong_constant")],
        )


def _why_unscaled(scaling: Scaling, unscaled: list[str]) -> list[Mistake]:
    """Name the mistake made instead of scaling these, if it is known."""
    every = len(unscaled) == len(scaling.residual)
    for name, factor in FACTORS if every else ():
        if all(_is_scaled_by(scaling, role, factor) for role in unscaled):
            return [mistakes.named(name)]
    if not all(_even(scaling.every(role)) for role in unscaled):
        return []
    if not every:
        missing = "scaling_attention_missing" if unscaled == ["o"] else "scaling_mlp_missing"
        return [mistakes.named(missing)] if all(_is_untouched(scaling, role) for role in unscaled) else []
    biases = [f"{role}.bias" for role in unscaled]
    if all(bias in found for bias in biases for found in (scaling.alone, *scaling.models.values())):
        alone = sum(_mean(scaling.alone[bias]) for bias in biases)
        shares = {L: sum(scaling.spread(bias, L) for bias in biases) / alone for L in scaling.models if L > 1}
        if all(_near(share, 1 / math.sqrt(2 * L)) for L, share in shares.items()):
            return [mistakes.named("scaling_biases_only")]
    return [mistakes.named("scaling_missing" if _is_untouched(scaling, unscaled[0]) else "scaling_constant")]


def _is_scaled_by(scaling: Scaling, role: str, factor: Callable[[int], float]) -> bool:
    """Return whether the projection is ``factor(L)`` times a Block's own, or a neighbouring matrix, for every L."""
    bases = [_mean(scaling.alone[role])] if role in scaling.alone else []
    bases += [scaling.spread(other) for other in scaling.beside(role)]
    return any(all(_near(scaling.spread(role, L), base * factor(L)) for L in scaling.models) for base in bases)


def _is_untouched(scaling: Scaling, role: str) -> bool:
    """Return whether a projection that is equal for all L is as in a Block alone, or initialised like the others."""
    changes = scaling.changes(role)
    again = [change for change in scaling.changes(*scaling.beside(role)) if not _near(change, 1)]
    if again and role == "o":  # same shape as theirs, so one initialisation changes all equally
        return all(_near(change, again[0]) for change in changes)
    return bool(again) or all(_near(change, 1) for change in changes)


def _wrong_constants(scaling: Scaling) -> dict[str, float]:
    """Return each projection's factor relative to 1/sqrt(2L), if its initialisation shows that it is wrong.

    The unscaled spread may be that of a Block alone, of the other matrices in the sublayer, or a usual one that GPT has
    drawn for the projections alone. A projection that fits none is wrong only if GPT has not drawn it anew.
    """
    implied = {role: float(np.mean(scaling.every(role, lambda L: math.sqrt(2 * L)))) for role in scaling.residual}
    implied = {role: base for role, base in implied.items() if base > 0}  # zero counts as scaled at any L
    if any(all(_close(base, usual(*scaling.fans[role])) for role, base in implied.items()) for usual in USUAL):
        return {}
    bases = {
        role: [*scaling.alone.get(role, [])[:1], *(scaling.entries(other) for other in scaling.beside(role))]
        for role in implied
    }
    off = [role for role, base in implied.items() if not any(_close(base, other.spread) for other in bases[role])]
    if wrong := {role: implied[role] / known for role in off if (known := _base(scaling, role))}:
        return wrong
    by_l = all(
        any(
            _close(base, math.sqrt(2) * other.spread) and _is_same_shape(scaling.entries(role), other)
            for other in bases[role]
        )
        for role, base in implied.items()
    )
    return dict.fromkeys(off, math.sqrt(2)) if by_l else {}


def _base(scaling: Scaling, role: str) -> float:
    """Return a projection's spread before scaling; 0 unless it was initialised like the others in its sublayer."""
    now, others = scaling.entries(role), [scaling.entries(other) for other in scaling.beside("o", "down")]
    changes = scaling.changes(*scaling.beside(role))
    if changes and role in scaling.alone and all(_close(change, 1) for change in changes):
        alone = scaling.alone[role][0]
        return alone.spread if _is_same_shape(now, alone) else 0.0
    spreads = [other.spread for other in others]
    if not spreads or max(spreads) > (1 + CLOSE) * min(spreads):
        return 0.0
    return float(np.mean(spreads)) if all(_is_same_shape(now, other) for other in others) else 0.0


def _is_same_shape(entries: Entries, other: Entries) -> bool:
    """Return whether both may come from one kind of distribution, such as a normal one."""
    return abs(entries.kurtosis - other.kurtosis) < KURTOSIS


def _mean(found: Iterable[Entries]) -> float:
    return float(np.mean([entries.spread for entries in found]))


def _even(values: Iterable[float]) -> bool:
    """Return whether all are equal, up to the sampling error of a standard deviation."""
    values = list(values)
    return max(values) <= (1 + 2 * FACTOR) * min(values)


def _close(value: float, other: float) -> bool:
    return math.isclose(value, other, rel_tol=CLOSE)


# --- residual scaling by matrix sizes, if the layouts are unknown -----------------------------------------------------


def _by_sizes(student: StudentCode, few: Dims, many: Dims, deducted: set[str], seed: int, notes: Notes) -> None:
    before, after = (matrix_kinds(student.build("GPT", n.arguments(), seed=seed)) for n in (few, many))
    moved = [kind for pattern, values in before.items() for kind in is_shrunk(values, after.get(pattern, []), few.d)]
    square = few.d**2
    of_attention = (square // few.H, square, square * few.H)  # per head, whole, or with heads of full width
    inside = [kind for kind in moved if kind.entries in of_attention]
    outside = [kind for kind in moved if kind.entries not in of_attention]
    wide = any(value.size == 4 * square for values in before.values() for value in values)
    if not outside and len(inside) > 1 and not wide:  # a narrower MLP may be as large as the projection
        outside = [inside.pop()]
    scaled_entries = sum(kind.entries for kind in moved if kind.before)
    if scaled_entries > MOST_SCALED * sum(value.size for values in before.values() for value in values):
        raise Failed(
            f"From L={few.L} to L={many.L} the standard deviation of {len(moved)} matrices in each block halves.",
            causes=[mistakes.named("scaling_of_other_matrices")],
        )
    found = {ROLES["o"]: inside, ROLES["down"]: outside}
    notes.record(
        standard_deviations={
            name: [[round(kind.before, 5), round(kind.after, 5)] for kind in kinds] for name, kinds in found.items()
        }
    )
    unscaled = [name for name, kinds in found.items() if not kinds]
    if unscaled == [ROLES["o"]] and "projection_missing" in deducted:
        notes.remark("The MLP's down-projection is scaled by 1/sqrt(2L); your attention has no projection to scale.")
        return
    if unscaled:
        seen = f"From L={few.L} to L={many.L} the standard deviation of {' and '.join(unscaled)} doesn't halve."
        if not any(value.size in of_attention for values in before.values() for value in values):
            raise Failed(f"{seen} No parameter has the size of such a matrix.", "Are the blocks registered?")
        causes = _unscaled(student, few, many, unscaled, of_attention, seed)
        raise (Partial if len(unscaled) == 1 else Failed)(
            seen, "" if causes else "Which factor does GPT multiply them by, and when?", causes
        )
    scaled = [kind.before for kind in moved]
    if all(scaled) and _by_l_alone(student, few, before, scaled, seed):
        raise Failed(
            f"At L={few.L} both projections are scaled by {1 / math.sqrt(few.L):.2f}; it should be "
            f"{1 / math.sqrt(2 * few.L):.2f}.",
            causes=[mistakes.named("scaling_sqrt_L")],
        )
    notes.remark("Both projections of each block are scaled by 1/sqrt(2L), so 2L additions keep the variance of x.")


def initial_logits(
    student: StudentCode, whole: WholeModel, steady: bool, n: Dims, seed: int, idx: np.ndarray
) -> tuple[ModuleProxy, np.ndarray]:
    """Return the model as initialised by ``seed``, and its logits by the oracle, or else by a replica.

    Raises Failed if the model's own logits differ: then it does not compute with these weights.
    """
    initial = student.build("GPT", n.arguments(), seed=seed)
    outputs.require_affordable(initial)
    weights = initial.pull()
    with outputs.blaming_initial_weights(initial, weights):
        own = outputs.require_logits(initial(idx), (*idx.shape, n.V))
    known = whole.composed(initial, n, weights)
    right, close = known.logits(idx) if known else None, EPS_SHOWS
    if right is None:
        # The same seed, so that unregistered tensors are equal too.
        replica = student.replica.build("GPT", n.arguments(), seed=seed)
        replica.push(weights)
        right, close = outputs.require_logits(replica(idx), (*idx.shape, n.V)), whole_model.CLOSE
    gap = float(np.abs(own - right).max() / max(1.0, float(np.abs(right).max())))
    if steady and not gap <= close:
        raise Failed(
            f"Before training, GPT's logits differ from those of a copy with the same weights by "
            f"{comparison.format_percent(gap)} of the largest.",
            claims_module.PLAIN,
        )
    return initial, right.astype(np.float64)


# --- shared -----------------------------------------------------------------------------------------------------------


def _because(initial: ModuleProxy, n: Dims, loss: float, deducted: set[str]) -> tuple[str, list[Mistake]]:
    """Explain a wrong initial loss by a mistake named in GPT's own check, or by the unembedding's initialisation."""
    if known := comparison.already_deducted(deducted, comparison.SPREAD):
        return "", known
    # After a LayerNorm a logit has variance d std^2, which adds d std^2 / 2 to the loss.
    tables = [w for w in initial.pull().values() if w.shape in ((n.V, n.d), (n.d, n.V))]
    spread = f"({', '.join(f'{w.std():.2f}' for w in tables)}; nn.Linear's is {1 / math.sqrt(3 * n.d):.2f})"
    for w in tables:
        if math.isclose(loss - math.log(n.V), n.d * float(w.std()) ** 2 / 2, rel_tol=ALIKE):
            return f"The standard deviation of its entries is {w.std():.2f}.", [mistakes.named("unembedding_init_std")]
    return f"Is the standard deviation of the V x d matrices {spread} too large, or the final LayerNorm missing?", []


# Wrong factors, with the mistake behind each.
FACTORS: tuple[tuple[str, Callable[[int], float]], ...] = (
    ("scaling_without_sqrt", lambda L: 1 / (2 * L)),
    ("scaling_of_shared_block", lambda L: (2 * L) ** (-L / 2)),
    ("scaling_inverted", lambda L: math.sqrt(2 * L)),
)


def _unscaled(
    student: StudentCode, few: Dims, many: Dims, unscaled: list[str], attention: Collection[int], seed: int
) -> list[Mistake]:
    """Name the mistake made instead of scaling these, comparing their spread in GPT with that in a Block alone."""
    before, after = (_factors(student, n, seed) for n in (few, many))
    weights = {name for name in before if before[name].matrix and name in after}
    moved = {name for name in weights if not (_near(before[name].factor, 1) and _near(after[name].factor, 1))}
    if len(unscaled) == 1:
        of_attention = "attention" in unscaled[0]
        moved = {name for name in moved if (before[name].entries in attention) == of_attention}
        if not moved:
            return [mistakes.named("scaling_attention_missing" if of_attention else "scaling_mlp_missing")]

    def scaled(names: Collection[str], factor: Callable[[int], float]) -> bool:
        return any(
            _near(before[name].factor, factor(few.L)) and _near(after[name].factor, factor(many.L)) for name in names
        )

    for name, factor in FACTORS:
        if scaled(moved, factor):
            return [mistakes.named(name)]
    if scaled(set(before) - weights, lambda L: 1 / math.sqrt(2 * L)):
        return [mistakes.named("scaling_biases_only")]
    if moved and len(moved) < len(weights):
        fixed = all(_near(before[name].factor, after[name].factor) for name in moved)
        return [mistakes.named("scaling_constant")] if fixed else []
    return [mistakes.named("scaling_missing")]


def _near(value: float, other: float) -> bool:
    return math.isclose(value, other, rel_tol=2 * FACTOR)


@dataclass(frozen=True)
class Scaled:
    """The factor by which GPT has scaled a tensor of a Block."""

    factor: float
    entries: int
    matrix: bool


def _factors(student: StudentCode, n: Dims, seed: int) -> dict[str, Scaled]:
    """Return the scaling of each tensor of a Block, by its name there; empty if there is no Block."""
    try:
        block = student.build("Block", {"d": n.d, "H": n.H, "T_max": n.T_max}, seed=seed).pull()
    except StudentError:
        return {}
    model = student.build("GPT", n.arguments(), seed=seed).pull()
    found = {}
    for name, value in block.items():
        spreads = [_spread(own) for path, own in model.items() if path.endswith(f".{name}")]
        if spreads and _spread(value):
            found[name] = Scaled(float(np.mean(spreads)) / _spread(value), value.size, value.ndim > 1)
    return found


def expected(n: Dims) -> dict[str, float]:
    """Return ln V + d std^2 / 2 for the two usual initialisations of the unembedding."""
    chance = math.log(n.V)
    return {
        "expected with nn.Linear's own": chance + 1 / 6,
        "expected with GPT-2's std 0.02": chance + n.d * 0.02**2 / 2,
    }


def sample_text(sizes: Sizes) -> tuple[np.ndarray, np.ndarray]:
    """Return English text as tokens and targets (B, T); no rows if the alphabet is not the course's."""
    n, alphabet = sizes.course, sizes.alphabet
    if len(alphabet) != n.V:
        return np.empty((0, n.T_max), np.int64), np.empty((0, n.T_max), np.int64)
    text = resources.files("autograder.assignment").joinpath("sample_text.txt").read_text("utf-8")
    tokens = np.array([alphabet.index(c) for c in text[: ROWS_OF_TEXT * n.T_max + 1]])
    return tokens[:-1].reshape(-1, n.T_max), tokens[1:].reshape(-1, n.T_max)


@dataclass(frozen=True)
class Kind:
    """A matrix in each block: its number of entries, and its standard deviation for both numbers of LAYERS."""

    entries: int
    before: float
    after: float


def matrix_kinds(model: ModuleProxy) -> dict[str, list[np.ndarray]]:
    """Return the model's matrices by shape and name, ignoring the block numbers in the name."""
    outputs.require_affordable(model)
    found: dict[str, list[np.ndarray]] = {}
    for name, value in model.pull().items():
        if value.ndim >= 2:
            found.setdefault(f"{re.sub('[0-9]+', '*', name)} {value.shape}", []).append(value)
    return found


def is_shrunk(before: list[np.ndarray], after: list[np.ndarray], d: int) -> list[Kind]:
    """Return the kinds whose standard deviation halves between LAYERS, among matrices of one shape and one name.

    Several may be in one tensor, or differ only by a number in their names. Those that are equal for both numbers of
    blocks are set aside first. Matrices initialised to zero count as scaled.
    """
    few, many = LAYERS
    for axis, parts in _cuts(before[0].shape, d):
        few_cut, many_cut = (
            [p for value in values for p in np.split(value, parts, axis)] for values in (before, after)
        )
        if any(_unlike(cut[i : i + parts]) for cut in (few_cut, many_cut) for i in range(0, len(cut), parts)):
            return is_shrunk(few_cut, many_cut, d)
    kinds = (len(after) - len(before)) // (many - few)  # in each block; correct even if there is an extra block
    if not kinds and len(before) == len(after):
        kinds = len(before)  # shared by all blocks, or outside them
    if kinds < 1 or len(before) % kinds or len(after) % kinds:
        return []
    first, last = (_means(sorted(map(_spread, values)), kinds) for values in (before, after))
    pairs = [(x, x) for x in first if x == 0 and 0 in last]
    for x in list(first):
        same = next((y for y in last if math.isclose(x, y, rel_tol=FACTOR)), None)
        if same is not None:
            first.remove(x)
            last.remove(same)
    ratio = math.sqrt(few / many)
    pairs += [(x, y) for x, y in zip(first, last, strict=False) if math.isclose(y, x * ratio, rel_tol=FACTOR)]
    return [Kind(before[0].size, x, y) for x, y in pairs]


def _cuts(shape: tuple[int, ...], d: int) -> list[tuple[int, int]]:
    """Return (axis, number of parts) for each way in which several matrices may be concatenated in one tensor."""
    sides = [
        (axis, parts) for axis, size in enumerate(shape) for parts in (size, size // d) if size in (parts, parts * d)
    ]
    return [(axis, parts) for axis, parts in sides if 1 < parts <= 4 and math.prod(shape) >= parts * d * d // 2]


def _unlike(pieces: list[np.ndarray]) -> bool:
    """Return whether the standard deviations of parts of one tensor differ by more than chance."""
    spreads = [_spread(piece) for piece in pieces]
    return max(spreads) > (1 + 2 * FACTOR) * min(spreads)


def _spread(value: np.ndarray) -> float:
    """Return the standard deviation; it is 0 only for zeros, which count as scaled at any L."""
    return float(value.std()) or float(np.abs(value).max(initial=0))


def _means(values: list[float], kinds: int) -> list[float]:
    """Return the means of ``kinds`` equal groups of consecutive values."""
    size = len(values) // kinds
    return [float(np.mean(values[i : i + size])) for i in range(0, len(values), size)]


def _by_l_alone(
    student: StudentCode, n: Dims, model: dict[str, list[np.ndarray]], scaled: list[float], seed: int
) -> bool:
    """Return whether 1/sqrt(L) explains every scaled spread, and 1/sqrt(2L) none.

    The unscaled spread is that of a Block alone, since a Block cannot know L, or that of GPT's other matrices if GPT
    initialises everything anew, or GPT-2's 0.02.
    """
    others = _spreads(model, n.d)
    bases = [value for value in others if not any(math.isclose(value, x, rel_tol=NEAR) for x in scaled)]
    if student.defines("Block"):
        block = student.build("Block", {"d": n.d, "H": n.H, "T_max": n.T_max}, seed=seed)
        bases += _spreads(matrix_kinds(block), n.d)
    by_l = all(any(math.isclose(x * math.sqrt(n.L), base, rel_tol=NEAR) for base in bases) for x in scaled)
    by_2l = any(math.isclose(x * math.sqrt(2 * n.L), base, rel_tol=NEAR) for base in (*bases, 0.02) for x in scaled)
    return by_l and not by_2l


def _spreads(model: dict[str, list[np.ndarray]], d: int) -> list[float]:
    """Return the standard deviations of all matrices, and of the parts that may be separate matrices."""
    values = [value for group in model.values() for value in group]
    pieces = [
        piece for value in values for axis, parts in _cuts(value.shape, d) for piece in np.split(value, parts, axis)
    ]
    return [_spread(value) for value in (*values, *pieces)]
