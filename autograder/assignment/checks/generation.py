"""Sampling new tokens: the result, the context that each token is sampled from, and its distribution.

The right distribution is that of the student's own forward on the last T_max tokens, under weights that the grader
sets. It comes from the oracle if the full model is known, else from a replica, which has not seen generate's samples.
Bad luck costs nothing: a run counts as wrong only if correct code would give it with a probability below 1e-9.
"""

from __future__ import annotations

import contextlib
import functools
import itertools
import math
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any, NoReturn

import numpy as np
import pytest

from autograder.assignment import mistakes
from autograder.assignment.measure import outputs
from autograder.assignment.measure.numeric import softmax
from autograder.assignment.measure.whole_model import WholeModel
from autograder.assignment.mistakes import Mistake
from autograder.assignment.sizes import Dims, Sizes
from autograder.grading import exceptions
from autograder.grading.verdict import Failed, Notes
from autograder.sandbox.remote.errors import NotDefined, Raised, StudentError
from autograder.sandbox.remote.proxy import ModuleProxy
from autograder.sandbox.remote.student_code import StudentCode

pytestmark = [pytest.mark.needs("GPT"), pytest.mark.usefixtures("logits_depend_on_weights")]

UNLIKELY = math.log(1e9)
PAST = 6  # new tokens after a prompt of T_max - 1
OTHERS = 64  # different prompts: that each gets its likeliest token is then no chance
ROWS = 8  # many rows and few steps: a step costs the same for all of them
WIDE = 4  # rows of T_max tokens, which cost more
DRAWS = 4096  # for each of two seeds: enough to detect a temperature of 0.9
STRONG = (10.0, 3.0, 1.0)  # deviations of the logits; the first at which correct code stays finite is used
SPREADS, LIKELIEST = (2.0, 1.0, 0.3), 0.7  # of the logits; the first at which no token is nearly certain is used
NOISY = 32  # passes averaged if forward is random
ALTERNATIVES = {  # how else tokens may have been sampled: mistake; uniform may fit a few samples of any code
    "uniform sampling": "",
    "the logits at the first position": "generate_first_position",
    "the logits at the second position": "generate_other_position",
    "the logits at the second-to-last position": "generate_other_position",
    "the logits of another row": "generate_rows_mixed",
    "a context of the first T_max tokens": "generate_crops_wrong_end",
}
SAMPLE = (40, 2)  # rows, and characters per row, of the sample that is shown


Forward = Callable[[np.ndarray], np.ndarray]  # tokens (B, T) -> probabilities of the next token, (B, T, V)
# Of the oracle, if the full model is known, and of a replica, which decides if the two disagree: large weights can make
# correct code round otherwise.
Forwards = tuple[Forward, ...]
Generate = Callable[[np.ndarray, int, int], np.ndarray]  # prompt (B, T), new tokens and seed -> tokens (B, T + new)
Run = Callable[[Callable[[Generate], None]], None]  # runs a check
REMEMBERS = "generate_keeps_state"


@pytest.fixture
def model(student: StudentCode, sizes: Sizes) -> ModuleProxy:
    """Build the small GPT that generates."""
    return student.build("GPT", dims(sizes).arguments())


@pytest.fixture
def current() -> dict[str, np.ndarray]:
    """Return the weights that ``set_weights`` has set last."""
    return {}


@pytest.fixture
def set_weights(
    student: StudentCode,
    model: ModuleProxy,
    sizes: Sizes,
    whole: WholeModel,
    current: dict[str, np.ndarray],
    rng: np.random.Generator,
) -> Callable[[dict[str, np.ndarray]], Forwards]:
    """Return a function that sets weights and returns what gives their distributions."""
    n = dims(sizes)

    def set_weights(weights: dict[str, np.ndarray]) -> Forwards:
        current.update(weights)
        model.push(weights)
        known = whole.forward(model, n, model.pull() | weights, rng) if whole.layout else None

        @functools.cache
        def replica() -> ModuleProxy:
            built = student.replica.build("GPT", n.arguments())
            built.push(weights)
            return built

        def elsewhere(context: np.ndarray) -> np.ndarray:
            return mean_probabilities(replica(), n, context)

        return (lambda context: softmax(known(context)), elsewhere) if known else (elsewhere,)

    return set_weights


@pytest.fixture
def forwards(
    model: ModuleProxy,
    sizes: Sizes,
    set_weights: Callable[[dict[str, np.ndarray]], Forwards],
    rng: np.random.Generator,
) -> Forwards:
    """Set weights under which the next token depends strongly on the whole context, and logits are finite."""
    n = dims(sizes)
    for spread in STRONG:
        found = set_weights(outputs.random_matrices(model, rng, spread))
        try:
            probabilities(model, n, rng.integers(0, n.V, (2, n.T_max)))
        except Raised:
            break  # generate reports it, if it gets there
        except Failed:
            continue
        break
    return found


@pytest.fixture
def run(
    student: StudentCode,
    sizes: Sizes,
    model: ModuleProxy,
    current: dict[str, np.ndarray],
    deducted: set[str],
    notes: Notes,
) -> Run:
    """Return a function that runs a check of generate, and deducts once for state kept between its calls."""
    n = dims(sizes)

    def call(prompt: np.ndarray, new: int, seed: int) -> np.ndarray:
        return generate(student, model, prompt, new, n, seed)

    def call_in_new_process(prompt: np.ndarray, new: int, seed: int) -> np.ndarray:
        with student.fresh_process() as fresh:
            built = fresh.build("GPT", n.arguments())
            built.push(dict(current))
            return generate(fresh, built, prompt, new, n, seed)

    def run(check: Callable[[Generate], None]) -> None:
        try:
            return check(call)
        except (Failed, Raised) as error:
            if isinstance(error, Failed) and error.diagnosis:
                raise  # a known mistake explains the tokens
            try:
                check(call_in_new_process)
            except (Failed, StudentError):
                raise error from None
            if REMEMBERS not in deducted:
                deducted.add(REMEMBERS)
                seen = (
                    exceptions.describe_location(error)
                    if isinstance(error, Raised)
                    else "Of several calls, a later one is wrong."
                )
                raise Failed(seen, causes=[mistakes.named(REMEMBERS)]) from None
        notes.remark("generate depends on earlier calls; in a new process each of them gives the right tokens.")

    return run


def test_output_shape(
    student: StudentCode,
    sizes: Sizes,
    forwards: Forwards,
    run: Run,
    rng: np.random.Generator,
    notes: Notes,
) -> None:
    n = dims(sizes)
    prompt = rng.integers(0, n.V, (ROWS, 5))

    def check(call: Generate) -> None:
        if not np.array_equal(call(prompt, 0, 0), prompt):
            raise Failed("With max_new_tokens=0, generate changed the prompt.", "Does it only append new tokens?")
        judge(forwards, n, call(prompt, 4, 0), 5, "After a prompt of 5 tokens")
        judge(forwards, n, call(prompt[:1, :1], 2, 0), 1, "After a prompt of 1 token")

    run(check)
    notes.record(sample=sample(student, sizes, rng))


def test_crop(
    sizes: Sizes,
    forwards: Forwards,
    run: Run,
    rng: np.random.Generator,
    notes: Notes,
) -> None:
    n = dims(sizes)
    prompt = rng.integers(0, n.V, (WIDE, n.T_max - 1))
    run(lambda call: judge(forwards, n, call(prompt, PAST, 0), prompt.shape[1], f"Past T_max={n.T_max}"))
    notes.remark(f"Past T_max={n.T_max} each new token is sampled from the last {n.T_max} tokens.")


def test_long_prompt(
    sizes: Sizes,
    forwards: Forwards,
    run: Run,
    rng: np.random.Generator,
) -> None:
    n = dims(sizes)
    prompt = rng.integers(0, n.V, (WIDE, n.T_max + 7))
    when = f"After a prompt of {prompt.shape[1]}, with T_max={n.T_max},"
    run(lambda call: judge(forwards, n, call(prompt, PAST, 0), prompt.shape[1], when))


def test_sampling(
    sizes: Sizes,
    model: ModuleProxy,
    set_weights: Callable[[dict[str, np.ndarray]], Forwards],
    whole: WholeModel,
    run: Run,
    rng: np.random.Generator,
    notes: Notes,
) -> None:
    n = dims(sizes)
    right = whole.layout is not None and not whole.mistakes
    # Use the prompt for which the last and the first position predict the most different distributions.
    prompts = rng.integers(0, n.V, (16, 2))
    for spread in SPREADS:
        forwards = set_weights(outputs.random_matrices(model, rng, spread))
        places = forwards[0](prompts)
        if np.median(places[:, -1].max(-1)) < LIKELIEST:
            break
    run(
        lambda call: replay_in_replica(
            forwards, lambda forward: compare_samples(call, model, forward, n, prompts, right, rng, notes)
        )
    )


def compare_samples(
    call: Generate,
    model: ModuleProxy,
    forward: Forward,
    n: Dims,
    prompts: np.ndarray,
    right: bool,
    rng: np.random.Generator,
    notes: Notes,
) -> None:
    """Raise Failed if tokens after one of ``prompts`` do not follow its distribution; ``right`` if rows cannot mix."""
    places = forward(prompts)
    chosen = int(np.abs(places[:, -1] - places[:, 0]).sum(-1).argmax())
    steady = np.array_equal(probabilities(model, n, prompts, 0), probabilities(model, n, prompts, 1))
    rows = DRAWS if steady else DRAWS // 4  # the mean of few passes is less precise
    prompt = np.repeat(prompts[chosen : chosen + 1], rows, 0)
    p = forward(prompt[:1] if right else prompt)[:, -1].mean(0)  # in the batch that is sampled from, in case rows mix
    drawn, again = (call(prompt, 1, seed)[:, -1] for seed in (1, 2))
    fixed = np.array_equal(drawn, again)
    counts = np.bincount(drawn if fixed else np.concatenate([drawn, again]), minlength=n.V)
    notes.record(expected=[round(float(x), 4) for x in p], drawn=[int(x) for x in counts])
    common = f"{counts.sum()} rows with the same prompt"
    if len(set(drawn)) == 1:
        # A single sample for all rows may hit the likeliest token too; other prompts tell the two apart.
        elsewhere = call(prompts, 1, 0)[:, -1]
        alike = len(set(elsewhere)) == 1
        likeliest = np.array_equal(elsewhere, places[:, -1].argmax(-1))
        name = "generate_argmax" if likeliest else "generate_one_sample_per_batch" if alike else ""
        raise Failed(
            f"All {common} got the same token, whose probability is {p[drawn[0]]:.2f}.",
            "" if name else "Is each row's token sampled separately, from the softmax of its last position's logits?",
            [mistakes.named(name)] if name else [],
        )
    observed = counts / counts.sum()
    if _strayed(counts, p):
        worst = int(np.abs(observed - p).argmax())
        flat = _tempered(counts, p)
        raise Failed(
            f"Of {common}, {observed[worst]:.0%} sampled token {worst}; its probability is {p[worst]:.0%}.",
            "" if flat else "Is the softmax over the vocabulary (dim=-1), of the logits at the last position?",
            flat,
        )
    prompts = rng.integers(0, n.V, (OTHERS, 2))
    places = forward(prompts)[:, -1]
    likeliest = call(prompts, 1, 0)[:, -1] == places.argmax(-1)
    if likeliest.all() and float(np.log(places.max(-1)).sum()) < -UNLIKELY:
        raise Failed(
            f"After {OTHERS} different prompts the new token is the likeliest one every time.",
            causes=[mistakes.named("generate_argmax")],
        )
    if fixed:
        raise Failed(
            f"{rows} samples are identical for 2 seeds of torch's generator; they should differ.",
            causes=[mistakes.named("generate_fixed_seed")],
        )
    notes.remark(f"{counts.sum()} samples follow the softmax of the last position's logits.")


# --- shared -----------------------------------------------------------------------------------------------------------


def mean_probabilities(model: ModuleProxy, n: Dims, context: np.ndarray) -> np.ndarray:
    """(B, T) -> (B, T, V): softmax of the logits; the mean of NOISY passes if two of them differ.

    If forward is random, as with dropout that is always on, tokens follow that mean; the 1 / V covers what so many
    passes have not shown.
    """
    first, again = (probabilities(model, n, context, seed) for seed in (0, 1))
    if np.array_equal(first, again):
        return first
    more = [probabilities(model, n, context, seed) for seed in range(2, NOISY)]
    return np.asarray((first + again + np.sum(more, 0) + 1 / n.V) / (NOISY + 1))


def dims(sizes: Sizes) -> Dims:
    """Return the sizes: the course's T_max, since code may crop to a number, one block, and not one head per role."""
    return replace(sizes.small, T_max=sizes.course.T_max, H=4, L=1)


def generate(
    student: StudentCode, model: ModuleProxy, prompt: np.ndarray, new: int, n: Dims, seed: int = 0
) -> np.ndarray:
    """Call the method or function ``generate`` for tokens (B, T + new); raise Failed unless the prompt is kept."""
    (B, T), V, T_max = prompt.shape, n.V, n.T_max
    try:
        if "generate" in model.methods:
            out: Any = model.method("generate", prompt, new, seed=seed)
        elif student.defines("generate"):
            out = student.function("generate", model, prompt, new, seed=seed)
        else:
            raise NotDefined("GPT", "GPT.generate", "GPT has no method generate")
    except Raised as error:
        explain_samples(model, prompt, new, n, error)
    if not isinstance(out, np.ndarray):
        raise Failed(
            f"generate didn't return a tensor; it should return tokens of shape {(B, T + new)}.",
            "Does generate end with a return?",
        )
    if out.shape != (B, T + new):
        raise Failed(
            f"For a prompt of shape {(B, T)} and {new} new tokens, generate returned shape {out.shape}; it should be "
            f"{(B, T + new)}.",
            causes=_of_width(out.shape[1], T, new, T_max) if out.ndim == 2 and len(out) == B else [],
        )
    if out.dtype.kind not in "iu":
        raise Failed("generate returned non-integers; tokens are int64.")
    if not np.array_equal(out[:, :T], prompt):
        kept = int((out[:, :T] == prompt).sum())
        raise Failed(
            f"Of the first {B * T} tokens that generate returned, {kept} match the prompt; all should.",
            "Which tensor are the new tokens concatenated to, and along which axis?",
        )
    if not ((out >= 0) & (out < V)).all():
        raise Failed(f"generate returned tokens outside 0 to {V - 1}.")
    return out


def _of_width(width: int, T: int, new: int, T_max: int) -> list[Mistake]:
    """Return the mistake that gives ``width`` tokens for a prompt of ``T`` and ``new`` new tokens."""
    if width == new:
        return [mistakes.named("generate_without_prompt")]
    if T + new > T_max and width in (T_max, T_max + 1):
        return [mistakes.named("generate_stops_at_T_max" if width == T_max else "generate_overwrites_idx")]
    return [mistakes.named("generate_wrong_number")] if abs(width - T - new) == 1 else []


def _strayed(counts: np.ndarray, p: np.ndarray) -> bool:
    """Return whether samples with the probabilities ``p`` give such counts with a probability below 1e-9.

    For k counts of n samples, P(n KL > x) <= exp(-x) (e x / (k - 1))^(k - 1): Agrawal, Finite-Sample Concentration of
    the Multinomial in Relative Entropy, 2020.
    """
    x, free = _divergence(counts, p), len(p) - 1
    return x > free and x - free * (1 + math.log(x / free)) > UNLIKELY


def _divergence(counts: np.ndarray, p: np.ndarray) -> float:
    """Return the number of samples times KL(their frequencies, ``p``)."""
    seen = counts > 0
    return float(np.sum(counts[seen] * np.log(counts[seen] / counts.sum() / np.maximum(p[seen], 1e-300))))


def _tempered(counts: np.ndarray, p: np.ndarray) -> list[Mistake]:
    """Return the mistake if the samples follow a power of the right probabilities: 0 (uniform), or scaled logits."""
    others = {power: p**power / (p**power).sum() for power in (0.0, *np.geomspace(0.1, 10, 81))}
    power = min(others, key=lambda power: _divergence(counts, others[power]))
    if not _divergence(counts, others[power]) < len(p) * 2:
        return []
    return [mistakes.named("generate_temperature" if power else "generate_uniform")]


def replay_in_replica(forwards: Forwards, check: Callable[[Forward], None]) -> None:
    """Raise Failed if ``check`` fails with the last of ``forwards``, unless an earlier one passes."""
    for forward in forwards[:-1]:
        with contextlib.suppress(Failed):
            return check(forward)
    return check(forwards[-1])


def judge(forwards: Forwards, n: Dims, tokens: np.ndarray, start: int, when: str) -> None:
    """Raise Failed if the tokens from ``start`` on were not sampled from the distributions of ``forwards``."""
    replay_in_replica(forwards, lambda forward: compare(forward, n, tokens, start, when))


def compare(forward: Forward, n: Dims, tokens: np.ndarray, start: int, when: str) -> None:
    """Raise Failed if the tokens from ``start`` on are far likelier under an alternative than under correct sampling.

    Under correct sampling, the likelihood ratio of any alternative exceeds 1e9 with probability at most 1e-9 (Markov).
    """
    past = np.arange(start, tokens.shape[1]) > n.T_max
    # Only past T_max can the crop be wrong; before that, generate itself may never use so long a context.
    from_first = forward(tokens[:, : n.T_max])[:, -1] if past.any() else 1.0
    contexts = [tokens[:, max(0, position - n.T_max) : position] for position in range(start, tokens.shape[1])]
    places = list(forward_along(forward, contexts))

    def at(first: int) -> np.ndarray:
        """Return (positions, B, V): the prediction at that index of each context, or at the nearest one."""
        return np.stack([p[:, min(max(first, -p.shape[1]), p.shape[1] - 1)] for p in places])

    right, drawn = at(-1), tokens[:, start:].T
    alternatives = {
        "uniform sampling": np.full_like(right, 1 / n.V),
        "the logits at the first position": at(0),
        "the logits at the second position": at(1),
        "the logits at the second-to-last position": at(-2),
        "the logits of another row": np.roll(right, 1, 1),
        "a context of the first T_max tokens": np.where(past[:, None, None], from_first, right),
    }
    likely = _log(right, drawn)
    ratios, surprise = {}, {}
    for name, wrong in alternatives.items():
        ratios[name] = float((_log(wrong, drawn) - likely).sum())
        surprise[name] = float((wrong * np.log(np.maximum(wrong, 1e-300))).sum() - _log(wrong, drawn).sum())
    # The log probability that independent rows sample identical tokens.
    alike = float(np.log(right.prod(1).sum(-1) + 1e-300).sum())
    if len(tokens) > 1 and alike < -UNLIKELY and (tokens[1:, start:] == tokens[:1, start:]).all():
        raise Failed(
            f"{when} all {len(tokens)} rows got the same new tokens, although their prompts differ.",
            causes=[mistakes.named("generate_one_sample_per_batch")],
        )
    name = max(ratios, key=lambda name: ratios[name])
    if ratios[name] > UNLIKELY + math.log(len(ratios)):
        # A better fit is not yet a good fit: the samples must be typical of the alternative.
        explained = ALTERNATIVES[name] and surprise[name] < 2 * UNLIKELY
        raise Failed(
            f"{when} the samples fit {name} 1e{int(ratios[name] / math.log(10))} times better than your model's own "
            f"distribution.",
            "" if explained else "Is the softmax over the vocabulary (dim=-1), of the logits at the last position?",
            [mistakes.named(ALTERNATIVES[name])] if explained else [],
        )


def forward_along(forward: Forward, contexts: list[np.ndarray]) -> Iterator[np.ndarray]:
    """Yield ``forward`` of each context (B, T), in one call per width if batching makes no difference."""
    for _, group in itertools.groupby(contexts, lambda context: context.shape[1]):
        alike = list(group)
        together: list[np.ndarray] = []
        if len(alike) > 2:
            with contextlib.suppress(Failed, StudentError):
                together = np.split(forward(np.concatenate(alike)), len(alike))
        if together and np.allclose(together[-1], forward(alike[-1]), rtol=1e-3, atol=0):
            yield from together
        else:
            yield from map(forward, alike)


def _log(p: np.ndarray, drawn: np.ndarray) -> np.ndarray:
    """Return the log probability (...) of each sampled token (...) under ``p`` (..., V)."""
    return np.asarray(np.log(np.maximum(np.take_along_axis(p, drawn[..., None], -1)[..., 0], 1e-300)))


def probabilities(model: ModuleProxy, n: Dims, context: np.ndarray, seed: int = 0) -> np.ndarray:
    """Return the softmax of the logits: (B, T) -> (B, T, V), or (B, 1, V) if forward returns the last position only."""
    B, T = context.shape
    output = model(context, seed=seed)
    last_only = isinstance(output, np.ndarray) and output.shape == (B, 1, n.V)
    return softmax(outputs.require_logits(output, (B, 1 if last_only else T, n.V)))


def explain_samples(model: ModuleProxy, prompt: np.ndarray, new: int, n: Dims, error: Raised) -> NoReturn:
    """Raise ``error`` again, or Failed if the context was too long or logits were sampled from."""
    try:
        seen = model.inputs_during("generate", prompt, new)
    except StudentError:
        raise error from None
    T_max = n.T_max
    longest = max((idx.shape[-1] for idx in seen), default=0)
    if longest > T_max:
        raise Failed(
            f"generate called the model on {longest} tokens; at most T_max={T_max} are allowed.",
            causes=[mistakes.named("generate_without_crop")],
        ) from None
    if "probability tensor" in error.remote.text:
        try:
            finite = bool(np.isfinite(probabilities(model, n, prompt[:, -T_max:])).all())
        except (Failed, StudentError):
            finite = False
        if finite:
            raise Failed(exceptions.describe_location(error), causes=[mistakes.named("generate_from_logits")]) from None
    raise error


def sample(student: StudentCode, sizes: Sizes, rng: np.random.Generator) -> str:
    """Return text sampled from the untrained model; "" if the alphabet is not the course's.

    One block is enough: untrained, the others change nothing a reader would see.
    """
    n, (count, length) = replace(sizes.course, L=1), SAMPLE
    if len(sizes.alphabet) != n.V:
        return ""
    try:
        model = student.build("GPT", n.arguments(), seed=int(rng.integers(1 << 31)))
        tokens = generate(student, model, np.zeros((count, 1), np.int64), length, n)
    except (Failed, StudentError):
        return ""  # only a picture
    return "".join(sizes.alphabet[token] for token in tokens[:, 1:].reshape(-1) if 0 <= token < n.V)
