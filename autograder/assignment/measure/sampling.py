"""Calls of the student's generate, and the comparison of its samples with the model's own distribution.

Bad luck costs nothing: samples count as wrong only if correct code would give them with a probability below 1e-9.
"""

from __future__ import annotations

import contextlib
import itertools
import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import Any, NoReturn

import numpy as np

from autograder.assignment import mistakes
from autograder.assignment.measure import outputs
from autograder.assignment.measure.numeric import softmax
from autograder.assignment.mistakes import Mistake
from autograder.assignment.sizes import Dims, Sizes
from autograder.grading import exceptions
from autograder.grading.verdict import Failed, Notes
from autograder.sandbox.remote.errors import NotDefined, Raised, StudentError
from autograder.sandbox.remote.proxy import ModuleProxy
from autograder.sandbox.remote.student_code import StudentCode

UNLIKELY = math.log(1e9)
PROMPTS = 64  # different prompts: enough that not all get their likeliest token by chance
DRAWS = 4096  # for each of two seeds: enough to detect a temperature of 0.9
NOISY = 32  # passes to average if forward is random
ALTERNATIVES: dict[str, list[Mistake]] = {  # ways to sample tokens, with the mistake
    "uniform sampling": [],  # may fit a few samples of any code
    "the logits at the first position": [mistakes.generation.GENERATE_FIRST_POSITION],
    "the logits at the second position": [mistakes.generation.GENERATE_OTHER_POSITION],
    "the logits at the second-to-last position": [mistakes.generation.GENERATE_OTHER_POSITION],
    "the logits of another row": [mistakes.generation.GENERATE_ROWS_MIXED],
    "a context of the first T_max tokens": [mistakes.generation.GENERATE_CROPS_WRONG_END],
    "a rank used as the token": [mistakes.generation.GENERATE_RANK_FOR_TOKEN],
}
SAMPLE = (40, 2)  # rows, and characters per row, of the sample that is shown

Predictor = Callable[[np.ndarray], np.ndarray]  # tokens (B, T) -> probabilities of the next token, (B, T, V)
# Predictions of the oracle if the full model is known, and of a replica, which decides if the two disagree: with
# large weights, correct code can round differently.
Predictors = tuple[Predictor, ...]
Generate = Callable[[np.ndarray, int, int], np.ndarray]  # prompt (B, T), new tokens and seed -> tokens (B, T + new)


def call_generate(
    student: StudentCode, model: ModuleProxy, prompt: np.ndarray, new: int, n: Dims, seed: int = 0
) -> np.ndarray:
    """Call the method or function ``generate`` for tokens (B, T + new); raise Failed unless the prompt is kept."""
    (B, T), V = prompt.shape, n.V
    try:
        out = _generate(student, model, prompt, new, seed)
    except Raised as error:
        raise_explained(model, prompt, new, n, error)
    if not isinstance(out, np.ndarray):
        causes = _explain_length(student, model, n)
        raise Failed(
            f"For {new} new tokens, generate didn't return a tensor; it should return tokens of shape {(B, T + new)}.",
            "" if causes else "Does generate end with a return?",
            causes,
        )
    if out.shape != (B, T + new):
        raise Failed(
            f"For a prompt of shape {(B, T)} and {new} new tokens, generate returned shape {out.shape}; it should be "
            f"{(B, T + new)}.",
            causes=_explain_length(student, model, n) if out.ndim == 2 and len(out) == B else [],
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


def _generate(student: StudentCode, model: ModuleProxy, prompt: np.ndarray, new: int, seed: int) -> Any:
    """Return the value of the method or function ``generate``."""
    if "generate" in model.methods:
        return model.method("generate", prompt, new, seed=seed)
    if student.defines("generate"):
        return student.function("generate", model, prompt, new, seed=seed)
    raise NotDefined("GPT", "GPT.generate", "GPT has no method generate")


def _explain_length(student: StudentCode, model: ModuleProxy, n: Dims) -> list[Mistake]:
    """Return the mistake that explains how many tokens generate returns, for several prompts and numbers."""
    lengths: dict[tuple[int, int], int] = {}
    with contextlib.suppress(StudentError):
        for T, new in ((3, 5), (7, 2), (n.T_max - 4, 9)):
            out = _generate(student, model, np.resize(np.arange(n.V), (2, T)), new, 0)
            if not isinstance(out, np.ndarray) or out.ndim != 2:
                return []
            lengths[T, new] = out.shape[1]
        rules: dict[Mistake, list[Callable[[int, int], int]]] = {
            mistakes.generation.GENERATE_WITHOUT_PROMPT: [lambda T, new: new],
            mistakes.generation.GENERATE_STOPS_AT_T_MAX: [lambda T, new: min(T + new, n.T_max)],
            mistakes.generation.GENERATE_OVERWRITES_IDX: [lambda T, new: min(T + new, n.T_max + 1)],
            mistakes.generation.GENERATE_IGNORES_COUNT: [lambda T, new, k=k: T + k for k in range(10)],  # type: ignore[misc]
            mistakes.generation.GENERATE_COUNTS_PROMPT: [lambda T, new: max(T, new)],
            mistakes.generation.GENERATE_WRONG_NUMBER: [lambda T, new: T + new - 1, lambda T, new: T + new + 1],
        }
        for row, alternatives in rules.items():
            if any(all(rule(*given) == found for given, found in lengths.items()) for rule in alternatives):
                return [row]
        if _stops_at_token(student, model, n):
            return [mistakes.generation.GENERATE_STOPS_AT_TOKEN]
    return []


def _stops_at_token(student: StudentCode, model: ModuleProxy, n: Dims) -> bool:
    """Return whether generate returns early exactly when it has sampled one particular token."""
    new = min(3 * n.V, n.T_max - 1)
    outs = [_generate(student, model, np.array([[token]]), new, token)[0] for token in range(n.V)]
    early = [out[1:] for out in outs if 1 < len(out) < 1 + new]
    last = {int(tokens[-1]) for tokens in early}
    before = {int(token) for tokens in early for token in tokens[:-1]}
    before |= {int(token) for out in outs if len(out) == 1 + new for token in out[1:-1]}
    return len(early) > 2 and len({*map(len, early)}) > 1 and len(last) == 1 and not last & before


def raise_explained(model: ModuleProxy, prompt: np.ndarray, new: int, n: Dims, error: Raised) -> NoReturn:
    """Raise ``error`` again, or Failed if the context was too long or logits were sampled from."""
    try:
        contexts = model.record_inputs("generate", prompt, new)
    except StudentError:
        raise error from None
    T_max = n.T_max
    longest = max((idx.shape[-1] for idx in contexts), default=0)
    if longest > T_max:
        raise Failed(
            f"generate called the model on {longest} tokens; at most T_max={T_max} are allowed.",
            causes=[mistakes.generation.GENERATE_WITHOUT_CROP],
        ) from None
    if "probability tensor" in error.remote.text:
        try:
            finite = bool(np.isfinite(predict(model, n, prompt[:, -T_max:])).all())
        except (Failed, StudentError):
            finite = False
        if finite:
            raise Failed(
                exceptions.describe_exception(error), causes=[mistakes.generation.GENERATE_FROM_LOGITS], error=error
            ) from None
    raise error


def predict(model: ModuleProxy, n: Dims, context: np.ndarray, seed: int = 0) -> np.ndarray:
    """Return the softmax of the logits: (B, T) -> (B, T, V), or (B, 1, V) if forward returns the last position only."""
    B, T = context.shape
    output = model(context, seed=seed)
    last_only = isinstance(output, np.ndarray) and output.shape == (B, 1, n.V)
    return softmax(outputs.require_logits(output, (B, 1 if last_only else T, n.V)))


def mean_predictions(model: ModuleProxy, n: Dims, context: np.ndarray) -> np.ndarray:
    """Return the softmax of the logits, (B, T) -> (B, T, V): the mean of NOISY passes if two of them differ.

    If forward is random, as with dropout that is always on, tokens follow the mean; adding 1 / V covers tokens that
    these passes did not predict.
    """
    first, again = (predict(model, n, context, seed) for seed in (0, 1))
    if np.array_equal(first, again):
        return first
    more = [predict(model, n, context, seed) for seed in range(2, NOISY)]
    return np.asarray((first + again + np.sum(more, 0) + 1 / n.V) / (NOISY + 1))


def sample_text(student: StudentCode, sizes: Sizes, rng: np.random.Generator) -> str:
    """Return text sampled from the untrained model; "" if the alphabet is not the course's.

    One block is enough: a reader would not notice more untrained ones.
    """
    n, (count, length) = replace(sizes.course, L=1), SAMPLE
    if len(sizes.alphabet) != n.V:
        return ""
    try:
        model = student.build("GPT", n.arguments(), seed=int(rng.integers(1 << 31)))
        tokens = call_generate(student, model, np.zeros((count, 1), np.int64), length, n)
    except (Failed, StudentError):
        return ""  # only a picture
    return "".join(sizes.alphabet[token] for token in tokens[:, 1:].reshape(-1) if 0 <= token < n.V)


def compare_samples(
    call: Generate,
    model: ModuleProxy,
    predict_next: Predictor,
    n: Dims,
    prompts: np.ndarray,
    is_row_independent: bool,
    rng: np.random.Generator,
    notes: Notes,
) -> None:
    """Raise Failed if the tokens after one of ``prompts`` do not follow its distribution.

    The test uses the prompt whose first and last positions predict the most different distributions.

    Args:
        call: Calls generate.
        model: The student's model.
        predict_next: Returns the right distributions.
        n: The sizes of the model.
        prompts: The candidates for the prompt, (B, 2).
        is_row_independent: Whether the rows of a batch are known not to affect each other.
        rng: Generator for further prompts.
        notes: Records the distribution and the counts.
    """
    predictions = predict_next(prompts)
    chosen = int(np.abs(predictions[:, -1] - predictions[:, 0]).sum(-1).argmax())
    is_deterministic = np.array_equal(predict(model, n, prompts, 0), predict(model, n, prompts, 1))
    rows = DRAWS if is_deterministic else DRAWS // 4  # the mean of few passes is less precise
    prompt = np.repeat(prompts[chosen : chosen + 1], rows, 0)
    # If rows may affect each other, predict with the same batch as the samples.
    p = predict_next(prompt[:1] if is_row_independent else prompt)[:, -1].mean(0)
    sampled, sampled_again = (call(prompt, 1, seed)[:, -1] for seed in (1, 2))
    is_seed_fixed = np.array_equal(sampled, sampled_again)
    counts = np.bincount(sampled if is_seed_fixed else np.concatenate([sampled, sampled_again]), minlength=n.V)
    notes.record(expected=[round(float(x), 4) for x in p], drawn=[int(x) for x in counts])
    subject = f"{counts.sum()} rows with the same prompt"
    if len(set(sampled)) == 1:
        # One sample shared by all rows may be the likeliest token, too; other prompts tell the two apart.
        tokens = call(prompts, 1, 0)[:, -1]
        causes = [mistakes.generation.GENERATE_ONE_SAMPLE_PER_BATCH] if len(set(tokens)) == 1 else []
        if np.array_equal(tokens, predictions[:, -1].argmax(-1)):
            causes = [mistakes.generation.GENERATE_ARGMAX]
        raise Failed(
            f"All {subject} got the same token, whose probability is {p[sampled[0]]:.2f}.",
            "" if causes else "Is each row's token sampled separately, from the softmax of its last position's logits?",
            causes,
        )
    observed = counts / counts.sum()
    if _is_improbable(counts, p):
        worst = int(np.abs(observed - p).argmax())
        raise Failed(
            f"Of {subject}, {observed[worst]:.0%} sampled token {worst}; its probability is {p[worst]:.0%}.",
            causes=_explain_counts(counts, p),
        )
    prompts = rng.integers(0, n.V, (PROMPTS, 2))
    predictions = predict_next(prompts)[:, -1]
    is_likeliest = call(prompts, 1, 0)[:, -1] == predictions.argmax(-1)
    if is_likeliest.all() and float(np.log(predictions.max(-1)).sum()) < -UNLIKELY:
        raise Failed(
            f"After {PROMPTS} different prompts, the new token is the likeliest one every time.",
            causes=[mistakes.generation.GENERATE_ARGMAX],
        )
    if is_seed_fixed:
        raise Failed(
            f"{rows} samples are identical for 2 seeds of torch's generator; they should differ.",
            causes=[mistakes.generation.GENERATE_FIXED_SEED],
        )
    notes.remark(f"{counts.sum()} samples follow the softmax of the last position's logits.")


def _is_improbable(counts: np.ndarray, p: np.ndarray) -> bool:
    """Return whether samples with the probabilities ``p`` give such counts with a probability below 1e-9.

    For k counts of n samples, P(n KL > x) <= exp(-x) (e x / (k - 1))^(k - 1): Agrawal, Finite-Sample Concentration of
    the Multinomial in Relative Entropy, 2020.
    """
    x, freedom = _divergence(counts, p), len(p) - 1
    return x > freedom and x - freedom * (1 + math.log(x / freedom)) > UNLIKELY


def _divergence(counts: np.ndarray, p: np.ndarray) -> float:
    """Return the number of samples times KL(their frequencies, ``p``)."""
    sampled = counts > 0
    ratios = counts[sampled] / counts.sum() / np.maximum(p[sampled], 1e-300)
    return float(np.sum(counts[sampled] * np.log(ratios)))


def _explain_counts(counts: np.ndarray, p: np.ndarray) -> list[Mistake]:
    """Return the mistake whose distribution the samples follow instead of ``p``, if one is known."""
    powers = {power: p**power / (p**power).sum() for power in (0.0, *np.geomspace(0.1, 10, 81))}
    power = min(powers, key=lambda power: _divergence(counts, powers[power]))
    kept = np.argsort(-p)[: np.count_nonzero(counts)]
    truncated = np.where(np.isin(np.arange(len(p)), kept), p, 0.0)
    explanations = (
        (mistakes.generation.GENERATE_TEMPERATURE if power else mistakes.generation.GENERATE_UNIFORM, powers[power]),
        (mistakes.generation.GENERATE_RANK_FOR_TOKEN, np.sort(p)[::-1]),
        (mistakes.generation.GENERATE_RANK_FOR_TOKEN, np.sort(p)),
        (mistakes.generation.GENERATE_TRUNCATED, truncated / truncated.sum()),
    )
    fitting = [row for row, wrong in explanations if _divergence(counts, wrong) < len(p) * 2]
    return fitting[:1]


def check_with_any(predictors: Predictors, check: Callable[[Predictor], None]) -> None:
    """Raise Failed unless ``check`` passes with one of ``predictors``."""
    for predict_next in predictors[:-1]:
        with contextlib.suppress(Failed):
            return check(predict_next)
    return check(predictors[-1])


def require_samples_of(
    predictors: Predictors,
    n: Dims,
    tokens: np.ndarray,
    start: int,
    when: str,
    explain: Callable[[np.ndarray], list[Mistake]],
) -> None:
    """Raise Failed if the tokens from ``start`` on were not sampled from the distributions of ``predictors``.

    ``explain`` returns the mistake for tokens that no alternative explains.
    """
    check_with_any(predictors, lambda predict_next: compare_likelihoods(predict_next, n, tokens, start, when, explain))


def compare_likelihoods(
    predict_next: Predictor,
    n: Dims,
    tokens: np.ndarray,
    start: int,
    when: str,
    explain: Callable[[np.ndarray], list[Mistake]],
) -> None:
    """Raise Failed if the tokens from ``start`` on are far likelier under an alternative than under correct sampling.

    Under correct sampling, the likelihood ratio of any alternative exceeds 1e9 with probability at most 1e-9 (Markov).
    """
    is_past = np.arange(start, tokens.shape[1]) > n.T_max
    # The crop can be wrong only past T_max; up to there, generate may never use the full context.
    from_first = predict_next(tokens[:, : n.T_max])[:, -1] if is_past.any() else 1.0
    contexts = [tokens[:, max(0, position - n.T_max) : position] for position in range(start, tokens.shape[1])]
    predictions = list(predict_contexts(predict_next, contexts))

    def predictions_at(index: int) -> np.ndarray:
        """Return the predictions (positions, B, V) at the given index of each context, or at the nearest one."""
        return np.stack([p[:, min(max(index, -p.shape[1]), p.shape[1] - 1)] for p in predictions])

    right, sampled = predictions_at(-1), tokens[:, start:].T
    alternatives = {
        "uniform sampling": np.full_like(right, 1 / n.V),
        "the logits at the first position": predictions_at(0),
        "the logits at the second position": predictions_at(1),
        "the logits at the second-to-last position": predictions_at(-2),
        "the logits of another row": np.roll(right, 1, 1),
        "a context of the first T_max tokens": np.where(is_past[:, None, None], from_first, right),
        "a rank used as the token": np.sort(right, -1)[..., ::-1],
    }
    log_probability = _log_probability(right, sampled)
    ratios = {
        name: float((_log_probability(wrong, sampled) - log_probability).sum()) for name, wrong in alternatives.items()
    }
    # The log probability that independent rows sample identical tokens.
    coincidence = float(np.log(right.prod(1).sum(-1) + 1e-300).sum())
    if len(tokens) > 1 and coincidence < -UNLIKELY and (tokens[1:, start:] == tokens[:1, start:]).all():
        raise Failed(
            f"{when} all {len(tokens)} rows got the same new tokens, although their prompts differ.",
            causes=explain(tokens) or [mistakes.generation.GENERATE_ONE_SAMPLE_PER_BATCH],
        )
    name = max(ratios, key=lambda name: ratios[name])
    if ratios[name] > UNLIKELY + math.log(len(ratios)):
        causes = ALTERNATIVES[name] if _is_typical(alternatives[name], sampled) else []
        raise Failed(
            f"{when} the {sampled.size} sampled tokens fit {name} far better than your model's own distribution.",
            causes=causes or explain(tokens),
        )


def _is_typical(p: np.ndarray, sampled: np.ndarray) -> bool:
    """Return whether ``sampled`` is typical of ``p`` (..., V): the best of several fits may still be a bad one."""
    surprise = (p * np.log(np.maximum(p, 1e-300))).sum() - _log_probability(p, sampled).sum()
    return bool(surprise < 2 * UNLIKELY)


def explain_short_context(
    model: ModuleProxy, predict_next: Predictor, n: Dims, prompt: np.ndarray, tokens: np.ndarray
) -> list[Mistake]:
    """Return the mistake if generate never gives the model all tokens that it can take, and the samples fit that."""
    start = prompt.shape[1]
    with contextlib.suppress(Failed, StudentError):
        contexts = model.record_inputs("generate", prompt, tokens.shape[1] - start)
        longest = max((idx.shape[-1] for idx in contexts), default=0)
        if not 1 <= longest < min(n.T_max, tokens.shape[1] - 1):
            return []
        cropped = [tokens[:, max(0, position - longest) : position] for position in range(start, tokens.shape[1])]
        p = np.stack([each[:, -1] for each in predict_contexts(predict_next, cropped)])
        cause = (
            mistakes.generation.GENERATE_LAST_TOKEN if longest == 1 else mistakes.generation.GENERATE_CROPS_TOO_SHORT
        )
        return [cause] if _is_typical(p, tokens[:, start:].T) else []
    return []


def explain_cache_positions(
    model: ModuleProxy, weights: Mapping[str, np.ndarray], n: Dims, start: int, tokens: np.ndarray
) -> list[Mistake]:
    """Return the mistake if new tokens got the position embeddings of other positions, found by trying all.

    ``model`` has these ``weights`` and has not seen generate's samples; ``start`` is the length of the prompt.
    """
    tables = [name for name, value in weights.items() if value.shape == (n.T_max, n.d)]
    later = np.arange(start, n.T_max)
    others = [np.full(len(later), c) for c in range(n.T_max)]
    others += [np.clip(later + shift, 0, n.T_max - 1) for shift in (-start, -1, 1)]
    with contextlib.suppress(Failed, StudentError):
        for positions in others if len(tables) == 1 else ():
            table = weights[tables[0]]
            model.push({tables[0]: np.concatenate([table[:start], table[positions]])})
            p = predict(model, n, tokens[:, :-1])[:, start - 1 :]
            if _is_typical(p, tokens[:, start:]):
                return [mistakes.generation.GENERATE_CACHE_POSITIONS]
    return []


def predict_contexts(predict_next: Predictor, contexts: list[np.ndarray]) -> Iterator[np.ndarray]:
    """Yield the predictions for each context (B, T), in one call per width if batching makes no difference."""
    for _, group in itertools.groupby(contexts, lambda context: context.shape[1]):
        same_width = list(group)
        batched: list[np.ndarray] = []
        if len(same_width) > 2:
            with contextlib.suppress(Failed, StudentError):
                batched = np.split(predict_next(np.concatenate(same_width)), len(same_width))
        if batched and np.allclose(batched[-1], predict_next(same_width[-1]), rtol=1e-3, atol=0):
            yield from batched
        else:
            yield from map(predict_next, same_width)


def _log_probability(p: np.ndarray, sampled: np.ndarray) -> np.ndarray:
    """Return the log probability (...) of each sampled token (...) under ``p`` (..., V)."""
    return np.asarray(np.log(np.maximum(np.take_along_axis(p, sampled[..., None], -1)[..., 0], 1e-300)))
