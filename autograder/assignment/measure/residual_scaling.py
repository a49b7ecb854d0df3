"""Residual scaling measured by role, with the layouts that the classes' own checks have found."""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass

import numpy as np

from autograder.assignment import mistakes
from autograder.assignment.measure import outputs, parameter_usage, whole_model
from autograder.assignment.measure.comparison import Comparison
from autograder.assignment.mistakes import Mistake
from autograder.assignment.oracle.layouts import build_layout
from autograder.assignment.sizes import Dims
from autograder.grading.verdict import Failed, Partial
from autograder.sandbox.remote.errors import StudentError
from autograder.sandbox.remote.proxy import ModuleProxy
from autograder.sandbox.remote.replies import Parameter
from autograder.sandbox.remote.student_code import StudentCode

LAYERS = (1, 4)  # numbers of blocks: from one to the other, the scaled projections halve
LOOSE_TOLERANCE = 0.1  # relative; the deviation of 64 x 64 entries is known to 0.011
TOLERANCE = 0.08  # relative; seven standard errors when one matrix is compared with several
KURTOSIS_TOLERANCE = 0.5  # half the gap between uniform entries (1.8) and normal ones (3)
SCALED_BOTH = "Both projections of each block are scaled by 1/sqrt(2L), so 2L additions keep the variance of x."
SCALED_DOWN = "The MLP's down-projection is scaled by 1/sqrt(2L); your attention has no projection to scale."
ROLES = {
    "o": "the attention's projection",
    "down": "the MLP's down-projection",
    "q": "the queries",
    "k": "the keys",
    "v": "the values",
    "up": "the MLP's up-projection",
}
# The unscaled matrices in the sublayer of each projection that adds to the residual stream. If the layout is unknown,
# they are called by the projection, "~" and the tensor's name.
NEIGHBOURS = {"o": ("q", "k", "v"), "down": ("up",)}
# Standard deviations of usual initialisations by fan-in and fan-out: nn.Linear's own, LeCun, He, Xavier, orthogonal,
# 1/sqrt(d), "small" and GPT-2's.
USUAL_DEVIATIONS: tuple[Callable[[int, int], float], ...] = (
    lambda fan_in, fan_out: 1 / math.sqrt(3 * fan_in),
    lambda fan_in, fan_out: 1 / math.sqrt(fan_in),
    lambda fan_in, fan_out: math.sqrt(2 / fan_in),
    lambda fan_in, fan_out: math.sqrt(2 / (fan_in + fan_out)),
    lambda fan_in, fan_out: 1 / math.sqrt(max(fan_in, fan_out)),
    lambda fan_in, fan_out: 1 / math.sqrt(fan_out),
    lambda fan_in, fan_out: math.sqrt(2 / (5 * fan_out)),
    lambda fan_in, fan_out: 0.02,
)
# Wrong factors, with the mistake behind each.
WRONG_FACTORS: tuple[tuple[Mistake, Callable[[int], float]], ...] = (
    (mistakes.initial_loss.SCALING_WITHOUT_SQRT, lambda L: 1 / (2 * L)),
    (mistakes.initial_loss.SCALING_OF_SHARED_BLOCK, lambda L: (2 * L) ** (-L / 2)),
    (mistakes.initial_loss.SCALING_INVERTED, lambda L: math.sqrt(2 * L)),
)


@dataclass(frozen=True)
class Sublayer:
    """The role of each entry of a class's tensors, at the sizes of this check."""

    parameters: list[Parameter]
    entries: Mapping[str, np.ndarray]


@dataclass(frozen=True)
class MatrixStatistics:
    """The standard deviation and kurtosis of a matrix's entries, comparable across sizes."""

    deviation: float
    kurtosis: float


MatricesByRole = Mapping[str, list[MatrixStatistics]]  # for each role, one entry per block


@dataclass(frozen=True)
class Scaling:
    """The initial matrices of GPT for several L, by role, and those of a single Block, which cannot know L."""

    models: Mapping[int, MatricesByRole]
    block: MatricesByRole
    residual: list[str]  # the projections that add to the residual stream
    fans: Mapping[str, tuple[int, int]]  # fan-in and fan-out of each
    ignored: Collection[str] = ()  # other matrices, whose initial values are not reproducible

    def deviation(self, role: str, L: int = LAYERS[0]) -> float:
        """Return the standard deviation, averaged over the blocks."""
        return _mean_deviation(self.models[L][role])

    def all_deviations(self, role: str, factor: Callable[[int], float] = lambda _: 1) -> list[float]:
        """Return the standard deviation in each block for each L, times ``factor(L)``."""
        return [matrix.deviation * factor(L) for L, matrices in self.models.items() for matrix in matrices[role]]

    def neighbours(self, *roles: str) -> list[str]:
        """Return the other matrices in the sublayers of the projections ``roles``, if present."""
        known = [other for role in roles for other in NEIGHBOURS[role]]
        known += [other for other in self.models[LAYERS[0]] if other.startswith(tuple(f"{role}~" for role in roles))]
        others = [other for other in known if other not in self.ignored]
        return [other for other in others if all(other in matrices for matrices in self.models.values())]

    def ratios_to_block(self, *roles: str) -> list[float]:
        """Return GPT's standard deviations at the first L relative to a single Block's, for the roles known in both."""
        return [self.deviation(role) / _mean_deviation(self.block[role]) for role in roles if role in self.block]

    def mean_statistics(self, role: str) -> MatrixStatistics:
        """Return the statistics in the first model, averaged over the blocks."""
        found = self.models[LAYERS[0]][role]
        return MatrixStatistics(_mean_deviation(found), float(np.mean([matrix.kurtosis for matrix in found])))


def find_sublayers(student: StudentCode, layouts: Mapping[str, Comparison], n: Dims) -> list[Sublayer]:
    """Find the layouts of attention and MLP at ``n``; return an empty list if one is unknown."""
    sublayers = []
    for component, name, sizes in (
        ("attention", "MultiHeadAttention", {"d": n.d, "H": n.H, "T_max": n.T_max}),
        ("mlp", "MLP", {"d": n.d}),
    ):
        comparison = layouts.get(component)
        if comparison is None or comparison.match is None or len(comparison.findings.matches) > 1:
            return []
        if comparison.match.count != comparison.sizes.get("H", 0):
            return []
        names = {re.sub("[0-9]+", "*", name) for name in comparison.weights}
        try:
            parameters = [p for p in student.shared(name, sizes).parameters if re.sub("[0-9]+", "*", p.name) in names]
        except StudentError:
            return []
        shapes = parameter_usage.shapes(parameters)
        entries = build_layout(comparison.match.layout, shapes, sizes)
        if entries is None:
            return []
        sublayers.append(Sublayer(parameters, entries))
    return sublayers


def fan_in_and_out(sublayers: Iterable[Sublayer]) -> dict[str, tuple[int, int]]:
    """Return the fan-in and fan-out of each residual projection."""
    shapes = {role: at.shape for part in sublayers for role, at in part.entries.items() if role in NEIGHBOURS}
    return {role: (math.prod(shape[:-1]), shape[-1]) for role, shape in shapes.items()}


def measure_matrices(
    module: ModuleProxy, sublayers: Iterable[Sublayer], blocks: int, output_of: Callable[[ModuleProxy], np.ndarray]
) -> MatricesByRole:
    """Measure each role's matrix in every block of ``module``; omit roles without a tensor.

    If there are more sublayers than ``blocks``, measure only those that affect the output ``output_of(module)``.
    """
    outputs.require_affordable(module)
    values = module.pull()
    matrices: dict[str, list[MatrixStatistics]] = {}
    for sublayer in sublayers:
        candidates = [
            names
            for names in whole_model.prefixes(module.parameters, sublayer.parameters)
            if values.keys() >= set(names)
        ]
        for names in _select_effective(module, candidates, output_of) if len(candidates) > blocks else candidates:
            flat = np.concatenate([values[name].reshape(-1) for name in names])
            for role, at in sublayer.entries.items():
                if (at >= 0).all():
                    matrix = flat[at]
                    deviation = standard_deviation(matrix)
                    squares = np.square((matrix - matrix.mean()) / (deviation or 1))
                    statistics = MatrixStatistics(deviation, float(np.square(squares).mean()))
                    matrices.setdefault(role, []).append(statistics)
    return matrices


def _select_effective(
    module: ModuleProxy, candidates: list[tuple[str, ...]], output_of: Callable[[ModuleProxy], np.ndarray]
) -> list[tuple[str, ...]]:
    """Return the lists of tensors that affect the output; all of them if that can't be tested."""
    rng = np.random.default_rng(0)
    try:
        weights = outputs.random_weights(module, rng)  # the initial weights may be zero
        module.push(weights)
        before, effective = output_of(module), []
        for names in candidates:
            tensors = {name: weights[name] for name in names if name in weights}
            module.push({name: 2 * value for name, value in tensors.items()})
            if not np.array_equal(output_of(module), before):
                effective.append(names)
            module.push(tensors)
    except (Failed, StudentError):
        return candidates
    return effective or candidates


def run_model(model: ModuleProxy, n: Dims) -> np.ndarray:
    """Return the logits of ``model`` for two fixed rows of tokens."""
    idx = np.arange(2 * n.T_max).reshape(2, n.T_max) % n.V
    return outputs.require_logits(model(idx), (*idx.shape, n.V))


def find_unreproducible(matrices: MatricesByRole, again: MatricesByRole) -> set[str]:
    """Return the roles whose deviation is not finite or differs between models of one seed, as with ``torch.empty``."""
    return {
        role
        for role in matrices
        if not _is_close(_mean_deviation(matrices[role]), _mean_deviation(again.get(role, [])))
    }


def measure_block(student: StudentCode, sublayers: Iterable[Sublayer], n: Dims, seed: int) -> MatricesByRole:
    """Measure the nonzero initial matrices of a single Block; return none if it cannot be built."""
    try:
        block = student.build("Block", {"d": n.d, "H": n.H, "T_max": n.T_max}, seed=seed)
        x = np.random.default_rng(0).standard_normal((2, n.T_max, n.d)).astype(np.float32)
        matrices = measure_matrices(block, sublayers, 1, lambda module: outputs.require_tensor(module(x), x.shape))
        return {role: statistics for role, statistics in matrices.items() if _mean_deviation(statistics) > 0}
    except (Failed, StudentError):
        return {}


def check_scaling_by_role(scaling: Scaling) -> None:
    """Raise Partial or Failed unless exactly the residual projections are scaled by 1/sqrt(2L)."""
    few, many = LAYERS
    residual = scaling.residual
    neighbours = scaling.neighbours("o", "down")
    scaled_neighbours = [
        role for role in neighbours if not are_equal(scaling.deviation(role, L) for L in scaling.models)
    ]
    if scaled_neighbours:
        first = scaled_neighbours[0]
        ratio = scaling.deviation(first, many) / (scaling.deviation(first, few) or math.nan)
        raise Failed(
            f"From L={few} to L={many}, the standard deviation changes by a factor of {ratio:.2g} for "
            f"{', '.join(ROLES.get(role) or role.partition('~')[2] for role in scaled_neighbours)}.",
            causes=[mistakes.initial_loss.SCALING_OF_OTHER_MATRICES],
        )
    unscaled = [role for role in residual if not are_equal(scaling.all_deviations(role, math.sqrt))]
    if unscaled:
        measured = " and ".join(
            f"{scaling.deviation(role, few):.3g} to {scaling.deviation(role, many):.3g} for {ROLES[role]}"
            for role in unscaled
        )
        causes = _explain_unscaled(scaling, unscaled)
        raise (Partial if len(unscaled) < len(residual) else Failed)(
            f"From L={few} to L={many}, the standard deviation should halve in every block; it goes from {measured}.",
            "" if causes else "What factor does GPT multiply these weights by, and when?",
            causes,
        )
    wrong = _wrong_constants(scaling)
    if wrong:
        right = 1 / math.sqrt(2 * many)
        measured = " and ".join(f"{ROLES[role]} by {factor * right:.3f}" for role, factor in wrong.items())
        by_l = len(wrong) == len(residual) and all(_is_close(factor, math.sqrt(2)) for factor in wrong.values())
        raise (Partial if len(wrong) < len(residual) else Failed)(
            f"At L={many}, GPT scales {measured}; the factor should be 1/sqrt(2L) = {right:.3f}.",
            causes=[mistakes.initial_loss.SCALING_SQRT_L if by_l else mistakes.initial_loss.SCALING_WRONG_CONSTANT],
        )


def _explain_unscaled(scaling: Scaling, unscaled: list[str]) -> list[Mistake]:
    """Return the known mistake, if any, that explains why the roles ``unscaled`` lack their factor."""
    all_roles = len(unscaled) == len(scaling.residual)
    for mistake, factor in WRONG_FACTORS if all_roles else ():
        if all(_is_scaled_by(scaling, role, factor) for role in unscaled):
            return [mistake]
    if all_roles and all(_is_scaled_repeatedly(scaling, role) for role in unscaled):
        return [mistakes.initial_loss.SCALING_REPEATED]
    if not all(are_equal(scaling.all_deviations(role)) for role in unscaled):
        return []
    if not all_roles:
        missing = (
            mistakes.initial_loss.SCALING_ATTENTION_MISSING
            if unscaled == ["o"]
            else mistakes.initial_loss.SCALING_MLP_MISSING
        )
        return [missing] if all(_is_untouched(scaling, role) for role in unscaled) else []
    biases = [f"{role}.bias" for role in unscaled]
    if all(bias in matrices for bias in biases for matrices in (scaling.block, *scaling.models.values())):
        unscaled_sum = sum(_mean_deviation(scaling.block[bias]) for bias in biases)
        ratios = {L: sum(scaling.deviation(bias, L) for bias in biases) / unscaled_sum for L in scaling.models if L > 1}
        if all(is_roughly(ratio, 1 / math.sqrt(2 * L)) for L, ratio in ratios.items()):
            return [mistakes.initial_loss.SCALING_BIASES_ONLY]
    return [
        mistakes.initial_loss.SCALING_MISSING
        if _is_untouched(scaling, unscaled[0])
        else mistakes.initial_loss.SCALING_CONSTANT
    ]


def _is_scaled_by(scaling: Scaling, role: str, factor: Callable[[int], float]) -> bool:
    """Return whether for every L, a projection is ``factor(L)`` times a single Block's or a neighbouring matrix."""
    bases = [_mean_deviation(scaling.block[role])] if role in scaling.block else []
    bases += [scaling.deviation(other) for other in scaling.neighbours(role)]
    return any(all(is_roughly(scaling.deviation(role, L), base * factor(L)) for L in scaling.models) for base in bases)


def _is_scaled_repeatedly(scaling: Scaling, role: str) -> bool:
    """Return whether each block's projection is 1/sqrt(2L) times the next block's."""
    steps = [
        (matrix.deviation / following.deviation, 1 / math.sqrt(2 * L))
        for L, matrices in scaling.models.items()
        for matrix, following in itertools.pairwise(matrices[role])
        if following.deviation
    ]
    return bool(steps) and all(is_roughly(ratio, factor) for ratio, factor in steps)


def _is_untouched(scaling: Scaling, role: str) -> bool:
    """Return whether a projection, equal for all L, equals a single Block's or is initialised like its neighbours."""
    ratios = scaling.ratios_to_block(role)
    changes = [ratio for ratio in scaling.ratios_to_block(*scaling.neighbours(role)) if not is_roughly(ratio, 1)]
    if changes and role == "o":  # "o" has the neighbours' shape, so a custom initialisation changes all of them equally
        return all(is_roughly(ratio, changes[0]) for ratio in ratios)
    return bool(changes) or all(is_roughly(ratio, 1) for ratio in ratios)


def _wrong_constants(scaling: Scaling) -> dict[str, float]:
    """Return each projection's factor relative to 1/sqrt(2L), if its initialisation shows that it is wrong.

    The unscaled deviation may be that of a single Block, that of the other matrices in the sublayer, or a usual one
    with which GPT has redrawn only the projections. A projection that fits none of these is wrong only if GPT has not
    redrawn it.
    """
    unscaled = {
        role: float(np.mean(scaling.all_deviations(role, lambda L: math.sqrt(2 * L)))) for role in scaling.residual
    }
    unscaled = {
        role: deviation for role, deviation in unscaled.items() if deviation > 0
    }  # zero weights count as scaled for any L
    for usual in USUAL_DEVIATIONS:
        if all(_is_close(deviation, usual(*scaling.fans[role])) for role, deviation in unscaled.items()):
            return {}
    bases = {
        role: [
            *scaling.block.get(role, [])[:1],
            *(scaling.mean_statistics(other) for other in scaling.neighbours(role)),
        ]
        for role in unscaled
    }
    unexplained = [
        role
        for role, deviation in unscaled.items()
        if not any(_is_close(deviation, base.deviation) for base in bases[role])
    ]
    if wrong := {role: unscaled[role] / known for role in unexplained if (known := _unscaled_deviation(scaling, role))}:
        return wrong
    by_l = all(
        any(
            _is_close(deviation, math.sqrt(2) * base.deviation)
            and _has_same_kurtosis(scaling.mean_statistics(role), base)
            for base in bases[role]
        )
        for role, deviation in unscaled.items()
    )
    return dict.fromkeys(unexplained, math.sqrt(2)) if by_l else {}


def _unscaled_deviation(scaling: Scaling, role: str) -> float:
    """Return a projection's deviation before scaling; 0 unless it was initialised like the others in its sublayer."""
    statistics = scaling.mean_statistics(role)
    others = [scaling.mean_statistics(other) for other in scaling.neighbours("o", "down")]
    ratios = scaling.ratios_to_block(*scaling.neighbours(role))
    if ratios and role in scaling.block and all(_is_close(ratio, 1) for ratio in ratios):
        base = scaling.block[role][0]
        return base.deviation if _has_same_kurtosis(statistics, base) else 0.0
    deviations = [other.deviation for other in others]
    if not deviations or max(deviations) > (1 + TOLERANCE) * min(deviations):
        return 0.0
    return float(np.mean(deviations)) if all(_has_same_kurtosis(statistics, other) for other in others) else 0.0


def _has_same_kurtosis(one: MatrixStatistics, other: MatrixStatistics) -> bool:
    """Return whether both matrices may come from the same kind of distribution, such as a normal one."""
    return abs(one.kurtosis - other.kurtosis) < KURTOSIS_TOLERANCE


def _mean_deviation(matrices: Iterable[MatrixStatistics]) -> float:
    return float(np.mean([matrix.deviation for matrix in matrices]))


def are_equal(values: Iterable[float]) -> bool:
    """Return whether all standard deviations are equal, up to their sampling error."""
    values = list(values)
    return max(values) <= (1 + 2 * LOOSE_TOLERANCE) * min(values)


def _is_close(value: float, other: float) -> bool:
    return math.isclose(value, other, rel_tol=TOLERANCE)


def is_roughly(value: float, other: float) -> bool:
    """Return whether two standard deviations, or ratios of them, are equal up to their sampling error."""
    return math.isclose(value, other, rel_tol=2 * LOOSE_TOLERANCE)


def standard_deviation(value: np.ndarray) -> float:
    """Return the standard deviation; it is 0 only for zero weights, which count as scaled for any L."""
    return float(value.std()) or float(np.abs(value).max(initial=0))
