"""Value checks: the student's class, with weights set by the grader, against the oracle with and without mistakes."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from autograder.assignment import mistakes
from autograder.assignment.measure import outputs
from autograder.assignment.mistakes import Mistake
from autograder.assignment.oracle.client import Findings, Match, Oracle
from autograder.grading.verdict import Failed, Notes, Partial
from autograder.sandbox.remote.errors import Raised, StudentError
from autograder.sandbox.remote.proxy import ModuleProxy

# Relative to the largest entry. Float64 comes first; if nothing fits, float32 decides: honest code may create a float32
# constant, and a finite mask may be large enough only there. The subtlest mistakes are off by 1e-3.
EXACT, ROUNDED = 1e-9, 1e-4
FEW_ROWS = 2  # of a small input, with which the search rejects most candidates; as long as others, for caches by length
MOST_TENSORS = 64  # the most tensors that are tested for an effect one by one
OWN_WEIGHTS = (
    1e-3  # relative to the largest entry, at the class's own initial weights, where an accepted GELU may differ more
)
TINY = 1e-6  # outputs smaller than this are not compared with each other
ROUGH = 3e-2  # relative to the largest entry: the error of bfloat16


@dataclass(frozen=True)
class Comparison:
    """The result of a comparison, and the module with its own weights."""

    findings: Findings
    module: ModuleProxy
    weights: dict[str, np.ndarray]
    component: str
    sizes: Mapping[str, int]
    noise: float = 0.0  # largest difference between two passes
    causal: bool = False  # measured only if nothing fits
    rows_mix: bool = False  # likewise: whether a row's output depends on the other rows
    initial_gap: float = 0.0  # distance from the explanation at the initial weights, if it shows only there
    overwritten: str = ""  # describes a tensor that forward changes

    @property
    def match(self) -> Match | None:
        """The explanation that fits the outputs; None if no known explanation fits."""
        return self.findings.matches[0] if self.findings.matches else None

    @property
    def left_out(self) -> set[str]:
        """The tensors outside stubs that kept their initial values: masks, learnt scales, tensors without effect."""
        return {p.name for p in self.module.parameters if not p.owner} - self.weights.keys()

    @property
    def mistakes(self) -> set[Mistake]:
        """The mistakes of that explanation."""
        return set(self.match.mistakes) if self.match else set()


def compare_with_oracle(
    oracle: Oracle,
    component: str,
    build: Callable[[bool], ModuleProxy],
    inputs: Sequence[np.ndarray],
    read: Callable[[Any, np.ndarray], np.ndarray],
    sizes: Mapping[str, int],
    rng: np.random.Generator,
    stubs: Mapping[str, np.ndarray] | None = None,
    expected: Collection[Mistake] | None = None,
    scalars: bool = True,
) -> Comparison:
    """Compare the outputs for ``inputs`` with the oracle's ``component``.

    Mistakes ``expected`` from an earlier comparison of the class are tried first. A first comparison that finds an
    explanation in float64 requires the same in float32, in which models run, and again at the initial weights. If
    nothing fits, tensors without effect are left out; ``weights`` holds the others.

    Args:
        oracle: The correct model.
        component: The oracle's name for the class.
        build: Builds the module, in float64 (True) or float32.
        inputs: The inputs.
        read: Returns the tensor in an output for a given input; raises Failed if there is none.
        sizes: The arguments of the class's constructor.
        rng: Generator for the weights.
        stubs: The linear maps in stubs, by component.
        expected: Mistakes to try first.
        scalars: If False, 0-dim parameters keep their initial values: a learnt temperature of 1 computes the formula,
            but is one parameter too many.
    """
    comparison = _compare(oracle, component, build, inputs, read, sizes, rng, stubs, expected, scalars)
    if expected is not None:
        return comparison
    comparison = replace(comparison, overwritten=_find_overwritten(build, read, inputs[0]))
    if comparison.match is None or component == "model":
        return comparison
    gap = _initial_gap(oracle, comparison, build, read, inputs[0], stubs or {})
    return replace(comparison, initial_gap=gap)


def _compare(
    oracle: Oracle,
    component: str,
    build: Callable[[bool], ModuleProxy],
    inputs: Sequence[np.ndarray],
    read: Callable[[Any, np.ndarray], np.ndarray],
    sizes: Mapping[str, int],
    rng: np.random.Generator,
    stubs: Mapping[str, np.ndarray] | None,
    expected: Collection[Mistake] | None,
    scalars: bool,
    unused: Collection[str] = (),
) -> Comparison:
    double: Comparison | None = None
    most = 2
    for dtype, tolerance in ((np.float64, EXACT), (np.float32, ROUNDED)):
        try:
            module, weights, cases = _run_with_weights(build, inputs, read, rng, dtype, scalars, unused)
        except Raised as error:
            if not re.search("dtype|scalar type", error.remote.text, re.IGNORECASE) or (
                dtype is np.float32 and not double
            ):
                raise
            if double:
                return double  # code that sets float64 as the default doesn't run in float32
            continue  # honest code may create a float32 constant, incompatible with float64
        if any(y.dtype != dtype for _, y in cases):
            tolerance = ROUNDED  # forward casts its result to a lower precision
        cases = [(x, y.astype(dtype)) for x, y in cases]
        tensors = {p.name: weights[p.name].astype(dtype) for p in module.parameters if p.name in weights}
        maps = {name: matrix.astype(dtype) for name, matrix in (stubs or {}).items()}
        mistakes_first = double.mistakes if double else expected or ()
        if double:  # an explanation found in float64 need only roughly hold here: code may cast to a lower precision
            rough_findings = oracle.identify(component, tensors, cases, sizes, maps, ROUGH, mistakes_first)
            if any(
                {*penalised_mistakes(match.mistakes)} <= {*penalised_mistakes(double.mistakes)}
                for match in rough_findings.matches
            ):
                return double
        findings = oracle.identify(component, tensors, cases, sizes, maps, tolerance, mistakes_first, max_mistakes=most)
        if len(findings.matches) > 1:  # an input of another size and scale may separate them
            with contextlib.suppress(Failed, StudentError):
                x = _draw_extra_input(cases[0][0], sizes, rng)
                more = [*cases, (x, read(module(x), x).astype(dtype))]
                findings = oracle.identify(component, tensors, more, sizes, maps, tolerance, mistakes_first)
        comparison = Comparison(findings, module, weights, component, sizes)
        if dtype is np.float64 and findings.matches and expected is None:
            double = comparison
            continue
        if findings.matches:
            return comparison
        most = 1  # float32 is for masks that are large enough only there; pairs have been tried
    if any(value.ndim == 0 for value in weights.values()):
        return _compare(oracle, component, build, inputs, read, sizes, rng, stubs, expected, scalars=False)
    without_effect = set() if unused else _find_idle_tensors(module, read, cases[0][0], weights, rng)
    if without_effect:
        again = _compare(oracle, component, build, inputs, read, sizes, rng, stubs, expected, scalars, without_effect)
        if again.match:
            return again
    noise = max(float(np.abs(read(module(x, seed=0), x) - read(module(x, seed=1), x)).max()) for x, _ in cases)
    if noise:
        return replace(comparison, noise=noise)
    return replace(
        comparison,
        causal=_is_causal(module, read, *cases[0], sizes),
        rows_mix=_do_rows_mix(module, read, *cases[0]),
    )


def _initial_gap(
    oracle: Oracle,
    comparison: Comparison,
    build: Callable[[bool], ModuleProxy],
    read: Callable[[Any, np.ndarray], np.ndarray],
    x: np.ndarray,
    stubs: Mapping[str, np.ndarray],
) -> float:
    """Return how far a new module, at its own initial weights, is from the explanation; 0 if close enough.

    The distance is relative to the largest entry. Weights are not compared if float32 is too coarse to determine their
    output.
    """
    for dtype in (np.float32, np.float64):
        given = x.astype(dtype)
        try:
            module = build(dtype is np.float64)
            y = read(module(given), given)
            gap = _distance_at(oracle, comparison, module.pull(), given, y, stubs)
            if gap <= OWN_WEIGHTS:
                return 0.0
            # Code that casts to a lower precision is as far off under the weights of the comparison.
            module.push(comparison.weights)
            y = read(module(given), given)
            rough = _distance_at(oracle, comparison, comparison.weights, given, y, stubs) > ROUNDED
        except (Failed, StudentError):
            continue
        return gap if gap > (ROUGH if rough else OWN_WEIGHTS) else 0.0
    return 0.0


def _find_overwritten(
    build: Callable[[bool], ModuleProxy], read: Callable[[Any, np.ndarray], np.ndarray], x: np.ndarray
) -> str:
    """Describe a tensor of a new module that forward changes; "" if there is none."""
    try:
        module = build(False)
        # Large weights, since max_norm changes no others.
        module.push({name: value * 3 for name, value in module.pull().items() if value.dtype.kind == "f"})
        before = module.pull()
        read(module(x if x.dtype == np.int64 else x.astype(np.float32)), x)
        after = module.pull()
    except (Failed, StudentError):
        return ""
    for name in before.keys() & after.keys():
        change = np.abs(after[name] - before[name])
        if change.max() > 0:
            entry = np.unravel_index(change.argmax(), change.shape)
            where = f" at {tuple(map(int, entry))}" if entry else ""
            return f"{name}: its entry{where} goes from {before[name][entry]:.3g} to {after[name][entry]:.3g}"
    return ""


def _distance_at(
    oracle: Oracle,
    comparison: Comparison,
    weights: Mapping[str, np.ndarray],
    x: np.ndarray,
    y: np.ndarray,
    stubs: Mapping[str, np.ndarray],
) -> float:
    """Return the distance of ``y`` from the explanation's output for ``x`` with ``weights``, or 0 if it is unknown."""
    assert comparison.match is not None
    right = []
    for dtype in (np.float64, np.float32):
        tensors = {name: weights[name].astype(dtype) for name in comparison.weights if name in weights}
        maps = {name: matrix.astype(dtype) for name, matrix in stubs.items()}
        found = oracle.outputs(
            comparison.component, tensors, [x.astype(dtype)], comparison.sizes, maps, comparison.match
        )
        if found is None or not np.isfinite(found[0]).all():
            return 0.0
        right.append(found[0])
    scale = max(float(np.abs(right[0]).max()), TINY)
    if np.abs(right[0] - right[1]).max() > ROUNDED * scale:
        return 0.0
    return float(np.abs(y - right[0]).max()) / scale


def _draw_extra_input(x: np.ndarray, sizes: Mapping[str, int], rng: np.random.Generator) -> np.ndarray:
    """Return an input of a different batch size and length, with entries three times as large."""
    shape = (len(x) + 2, x.shape[1] - 2, *x.shape[2:])
    if x.dtype == np.int64:
        return rng.integers(0, sizes["V"], shape)
    return (3 * rng.standard_normal(shape)).astype(x.dtype)


def _is_causal(
    module: ModuleProxy,
    read: Callable[[Any, np.ndarray], np.ndarray],
    x: np.ndarray,
    y: np.ndarray,
    sizes: Mapping[str, int],
) -> bool:
    """Return whether the outputs in the first half stay the same when the second half of x changes."""
    half = x.shape[1] // 2
    changed = x.copy()
    changed[:, half:] = (x[:, half:] + 1) % sizes["V"] if x.dtype == np.int64 else 1 - x[:, half:]
    try:
        change = np.abs(read(module(changed), x)[:, :half] - y[:, :half]).max()
    except (Failed, StudentError):
        return False
    return bool(change <= ROUNDED * max(1.0, float(np.abs(y).max())))


def _do_rows_mix(
    module: ModuleProxy, read: Callable[[Any, np.ndarray], np.ndarray], x: np.ndarray, y: np.ndarray
) -> bool:
    """Return whether the first row's output is another if it is alone in the batch."""
    try:
        change = np.abs(read(module(x[:1]), x[:1]) - y[:1]).max()
    except (Failed, StudentError):
        return False
    return bool(change > ROUNDED * max(1.0, float(np.abs(y).max())))


def _run_with_weights(
    build: Callable[[bool], ModuleProxy],
    inputs: Sequence[np.ndarray],
    read: Callable[[Any, np.ndarray], np.ndarray],
    rng: np.random.Generator,
    dtype: type[np.floating[Any]],
    scalars: bool,
    unused: Collection[str],
) -> tuple[ModuleProxy, dict[str, np.ndarray], list[tuple[np.ndarray, np.ndarray]]]:
    """Build the module with new weights; return it, the weights, and (input, output) pairs."""
    module = build(dtype is np.float64)
    weights = random_weights_for(module, rng)
    if not scalars:
        weights = {name: value for name, value in weights.items() if value.ndim}
    weights = {name: value for name, value in weights.items() if name not in unused}
    module.push(weights)
    given = [x if x.dtype == np.int64 else x.astype(dtype) for x in (*inputs, inputs[0][:FEW_ROWS])]
    return module, weights, [(x, read(module(x), x)) for x in given]


def _find_idle_tensors(
    module: ModuleProxy,
    read: Callable[[Any, np.ndarray], np.ndarray],
    x: np.ndarray,
    weights: Mapping[str, np.ndarray],
    rng: np.random.Generator,
) -> set[str]:
    """Return the names of tensors that can change without changing the output for ``x``; empty if forward is random.

    Only the parameter count deducts for these tensors.
    """
    if len(weights) > MOST_TENSORS:
        return set()
    found = set()
    try:
        before = read(module(x), x)
        if not np.array_equal(before, read(module(x, seed=1), x)):
            return set()
        for name, value in weights.items():
            module.push({name: value + rng.uniform(0.5, 1.5, value.shape)})
            if np.array_equal(read(module(x), x), before):
                found.add(name)
            module.push({name: value})
        module(x)  # with the previous weights, before they are overwritten
    except (Failed, StudentError):
        return set()
    return found


def random_weights_for(module: ModuleProxy, rng: np.random.Generator) -> dict[str, np.ndarray]:
    """Draw values of order 1 / sqrt(size) for matrices and of order 1 for vectors, for all tensors outside stubs."""
    outputs.require_affordable(module)
    weights, kept = {}, outputs.mask_parameters(module)
    for p in module.parameters:
        if not p.owner and p.name not in kept:
            scale = 1 / np.sqrt(max(p.fan_in, 8)) if p.is_matrix else 0.5
            weights[p.name] = np.asarray(rng.standard_normal(p.shape) * scale + (not p.is_matrix))
    return weights


def penalised_mistakes(rows: Collection[Mistake]) -> list[Mistake]:
    """Return the mistakes among ``rows`` that are not accepted."""
    return [row for row in rows if not row.accepted]


def raise_verdict(comparison: Comparison, what: str, notes: Notes, elsewhere: Sequence[Mistake] = ()) -> None:
    """Pass, or raise Partial for one known mistake, or Failed; a different check deducts the mistakes ``elsewhere``."""
    if comparison.noise:
        measured = f"Two passes of {what} on the same input in eval mode differ by up to {comparison.noise:.2g}."
        raise Failed(measured, causes=[mistakes.attention.DROPOUT_IN_EVAL])
    if comparison.overwritten:
        measured = f"Calling {what} changes the values of {comparison.overwritten}."
        raise Failed(measured, causes=[mistakes.model.WEIGHTS_OVERWRITTEN])
    if comparison.match is None:
        raise Failed(*_describe_unknown(comparison, what))
    explanations = [
        [row for row in penalised_mistakes(match.mistakes) if row not in elsewhere]
        for match in comparison.findings.matches
    ]
    wrong = explanations[0]
    if comparison.initial_gap:
        raise Failed(
            f"With its initial weights, the output of {what} is off by up to {format_percent(comparison.initial_gap)} "
            f"of its maximum; with other weights it is correct.",
            "Does forward use anything but x and the parameters?",
            wrong,
        )
    if not wrong:
        other = [row.sentence for row in penalised_mistakes(comparison.match.mistakes)]
        remarks = [row.sentence for row in comparison.match.mistakes if row.accepted]
        if other:
            notes.remark(" ".join(["Matches the formula with the same weights, with one exception:", *other]))
        else:
            notes.remark(" ".join(remarks))
        return
    kind = Partial if all(len(rows) == 1 for rows in explanations) else Failed
    rest = "Everything else in the class is correct." if kind is Partial else ""
    if len(explanations) > 1:
        raise kind(
            describe_difference(comparison, what), rest, [row for rows in explanations for row in rows], either=True
        )
    raise kind(describe_difference(comparison, what), rest, wrong)


PARAMETER_FORMULAS = {  # number of parameters of each class, without its submodules' own
    "attention": lambda n: 4 * n["d"] ** 2 + n["d"],
    "mlp": lambda n: 8 * n["d"] ** 2 + 5 * n["d"],
    "block": lambda n: 4 * n["d"],
    "model": lambda n: (2 * n["V"] + n["T_max"] + 2) * n["d"],
}


def describe_difference(comparison: Comparison, what: str) -> str:
    """Describe the difference: in the values, or else in the number of parameters."""
    gap, position = comparison.findings.gap, comparison.findings.position
    for row, letter, parts in (
        (mistakes.attention.HEADS_WRONG_NUMBER, "H", "heads"),
        (mistakes.model.BLOCKS_WRONG_NUMBER, "L", "blocks"),
    ):
        if comparison.match and row in comparison.mistakes:
            return f"For {letter}={comparison.sizes[letter]}, {what} uses {comparison.match.count} {parts}."
    if gap is not None and gap > ROUNDED:
        return (
            f"With the same weights, the output is off by up to {format_percent(gap)} of its maximum, from position "
            f"{position} on."
        )
    own = sum(p.size for p in comparison.module.parameters if not p.owner)
    count = f"{own:,} parameters; the formula has {PARAMETER_FORMULAS[comparison.component](comparison.sizes):,}"
    sizes = ", ".join(f"{name}={size}" for name, size in comparison.sizes.items() if name != "blocks")
    return f"For {sizes}, {what} has {count}."


def format_percent(gap: float) -> str:
    """Format a fraction as a percentage."""
    return f"{100 * gap:.0f}%" if gap >= 0.1 else f"{100 * gap:.2g}%"


def _describe_unknown(comparison: Comparison, what: str) -> tuple[str, str]:
    """Describe the difference if no known mistake fits, and the simpler properties that hold."""
    findings = comparison.findings
    if findings.is_incomplete:
        return (
            f"With the same weights, the output of {what} is not that of the formula.",
            "The search for a known mistake took too long: compare each step of forward with the docstring.",
        )
    if findings.gap is None:
        own = [f"{p.name} {p.shape}" for p in comparison.module.parameters if not p.owner]
        shown = ", ".join(own[:4]) + (", ..." if len(own) > 4 else "") or "none"
        tensors = "1 tensor that doesn't" if len(own) == 1 else f"{len(own)} tensors that don't"
        measured = f"{what} has {tensors} match its formula: {shown}."
        return f"{measured[0].upper()}{measured[1:]}", "Which one is missing or extra?"
    facts = "Shape and dtype are correct" + (", no output depends on later positions." if comparison.causal else ".")
    where = f"from position {findings.position} on"
    if comparison.rows_mix:
        where += "; each row's output depends on the other rows of the batch"
    elif findings.alone:
        where += "; the output for a single token is correct: check the steps that involve several positions"
    off = f"with the same weights, the output is off by up to {format_percent(findings.gap)} of its maximum"
    return (
        f"{facts} But {off}, {where}.",
        "No known mistake fits: compare each step of forward with the docstring.",
    )
