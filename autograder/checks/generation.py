"""Sampling new tokens: what is returned, from which context each token is drawn, and from which distribution.

What is right is what the student's own forward says of the last T_max tokens, with weights set by the grader. Nobody is
accused by bad luck: a run counts as wrong only where right code would give it with a probability below 1e-9.
"""

from __future__ import annotations

import contextlib
import itertools
import math
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, NoReturn

import numpy as np
import pytest

from autograder.assignment import Assignment, Dims
from autograder.checks import ladder
from autograder.outcome import Failed, Notes
from autograder.sandbox.errors import Absent, Raised, StudentError
from autograder.sandbox.student import Module, Student

pytestmark = [pytest.mark.needs("GPT"), pytest.mark.usefixtures("follows")]

UNLIKELY = math.log(1e9)
ROWS = 4
DRAWS = 1024
NOISY = 32  # draws of a forward that is not the same twice
ALTERNATIVES = {  # how else tokens may have been drawn: what to ask then
    "blindly": "Is the softmax over the vocabulary (dim=-1), of the last logits?",
    "from the logits at the first position": "Which position's logits say what comes next?",
    "from the logits of another row": "Does each row keep to its own logits, from the softmax to the concatenation?",
    "from the first tokens instead of the last": "Which end of the sequence should the crop to T_max tokens keep?",
}
SAMPLE = (40, 5)  # rows and characters a row of the sample that is shown


Forward = Callable[[np.ndarray], np.ndarray]  # tokens (B, T) -> the probabilities of what comes next, (B, T, V)


@pytest.fixture
def model(student: Student, assignment: Assignment, rng: np.random.Generator) -> Module:
    """A small GPT whose next token depends strongly on its whole context."""
    n = assignment.small
    built = student.build("GPT", n.arguments())
    built.push(ladder.random_matrices(built, rng, 10.0))
    return built


@pytest.fixture
def forward(model: Module, assignment: Assignment, rng: np.random.Generator) -> Forward:
    """The student's own forward, under the weights that the model then has."""
    n = assignment.small
    tokens = rng.integers(0, n.V, (1, n.T_max))
    plain = partial(probabilities, model, n)
    if np.array_equal(plain(tokens), plain(tokens, seed=1)):
        return plain
    # It draws by itself, as with dropout that is always on: tokens then follow its mean, which is known up to what has
    # not been seen in so many draws.
    return lambda context: np.asarray(
        (np.sum([plain(context, seed=seed) for seed in range(NOISY)], 0) + 1 / n.V) / (NOISY + 1)
    )


def test_contract(
    student: Student, assignment: Assignment, model: Module, forward: Forward, rng: np.random.Generator, notes: Notes
) -> None:
    n = assignment.small
    prompt = rng.integers(0, n.V, (ROWS, 5))
    same = generate(student, model, prompt, 0, n)
    if not np.array_equal(same, prompt):
        raise Failed("With max_new_tokens=0, generate changed the prompt.", "Are only new tokens appended?")
    tokens = generate(student, model, prompt, 4, n)
    judge(forward, n, tokens, 5, "after a prompt of 5 tokens")
    alone = generate(student, model, prompt[:1, :1], 2, n)
    judge(forward, n, alone, 1, "after a prompt of 1 token")
    notes.show(sample=sample(student, assignment, rng))


def test_crop(
    student: Student, assignment: Assignment, model: Module, forward: Forward, rng: np.random.Generator, notes: Notes
) -> None:
    n = assignment.small
    prompt = rng.integers(0, n.V, (ROWS, n.T_max - 3))
    tokens = generate(student, model, prompt, 20, n)
    judge(forward, n, tokens, prompt.shape[1], f"past T_max={n.T_max}")
    notes.say(f"Past T_max={n.T_max} each new token follows from the last {n.T_max} tokens.")


def test_long_prompt(
    student: Student, assignment: Assignment, model: Module, forward: Forward, rng: np.random.Generator
) -> None:
    n = assignment.small
    prompt = rng.integers(0, n.V, (ROWS, n.T_max + 7))
    tokens = generate(student, model, prompt, 12, n)
    judge(
        forward, n, tokens, prompt.shape[1], f"after a prompt of {prompt.shape[1]} tokens, longer than T_max={n.T_max},"
    )


def test_sampling(
    student: Student, assignment: Assignment, model: Module, forward: Forward, rng: np.random.Generator, notes: Notes
) -> None:
    n = assignment.small
    model.push(ladder.random_matrices(model, rng, 1.2))  # no token nearly certain, and no two alike
    # Of some prompts, the one after which the last position says something else than the first.
    prompts = rng.integers(0, n.V, (16, 6))
    places = forward(prompts)
    chosen = int(np.abs(places[:, -1] - places[:, 0]).sum(-1).argmax())
    prompt = np.repeat(prompts[chosen : chosen + 1], DRAWS, 0)
    p = forward(prompt)[:, -1].mean(0)  # in the batch in which the tokens are drawn
    drawn = generate(student, model, prompt, 1, n, seed=1)[:, -1]
    counts = np.bincount(drawn, minlength=n.V)
    notes.show(expected=[round(float(x), 4) for x in p], drawn=[int(x) for x in counts])
    common = f"{DRAWS} rows with the same prompt"
    if (counts > 0).sum() == 1:
        likeliest = "always the likeliest token" if drawn[0] == p.argmax() else "the same token for each"
        raise Failed(
            f"{common} drew {likeliest}, which has probability {p[drawn[0]]:.2f}.",
            "Is it argmax, or one draw that all rows share? torch.multinomial draws for each row.",
        )
    # The probability that right code strays this far is at most (draws + 1)^V exp(-draws KL): the method of types.
    observed = counts / DRAWS
    strayed = float(np.sum(observed[counts > 0] * np.log(observed[counts > 0] / np.maximum(p[counts > 0], 1e-300))))
    if DRAWS * strayed > n.V * math.log(DRAWS + 1) + UNLIKELY:
        worst = int(np.abs(observed - p).argmax())
        raise Failed(
            f"Of {common}, {observed[worst]:.0%} drew token {worst}, whose probability is {p[worst]:.0%}.",
            "Is the softmax over the vocabulary (dim=-1), of the logits at the last position?",
        )
    again = generate(student, model, prompt, 1, n, seed=2)[:, -1]
    if np.array_equal(drawn, again):
        raise Failed("Two seeds of torch's generator gave the same draws.", "Is the seed set inside generate?")
    notes.say(f"{DRAWS} draws follow the softmax of the last position's logits.")


# --- shared -----------------------------------------------------------------------------------------------------------


def generate(student: Student, model: Module, prompt: np.ndarray, new: int, n: Dims, seed: int = 0) -> np.ndarray:
    """The tokens (B, T + new) from the method or the function ``generate``; raises Failed unless the prompt is kept."""
    (B, T), V, T_max = prompt.shape, n.V, n.T_max
    try:
        if "generate" in model.methods:
            out: Any = model.method("generate", prompt, new, seed=seed)
        elif student.defines("generate"):
            out = student.function("generate", model, prompt, new, module="gpt", seed=seed)
        else:
            raise Absent("GPT", "GPT.generate", "GPT has no method generate")
    except Raised as error:
        explain(model, prompt, new, T_max, error)
    if not isinstance(out, np.ndarray):
        raise Failed("generate returned no tensor of tokens.", "Is there a return at its end?")
    if out.shape != (B, T + new):
        hint = ""
        if out.ndim == 2 and 0 < out.shape[1] < T + new:
            width = out.shape[1]
            hint = "Does the loop end early?"
            hint = "Is idx itself overwritten with the crop?" if width == T_max + 1 else hint
            hint = "Is the prompt left out of what is returned?" if width == new else hint
        raise Failed(
            f"generate returned the shape {out.shape} for a prompt of shape {(B, T)} and {new} new tokens; it should "
            f"be {(B, T + new)}.",
            hint,
        )
    if out.dtype.kind not in "iu":
        raise Failed("generate returned numbers that are not whole; tokens are int64.")
    if not np.array_equal(out[:, :T], prompt):
        raise Failed("The first tokens of what generate returned are not the prompt.")
    if not ((out >= 0) & (out < V)).all():
        raise Failed(f"generate returned tokens outside 0 to {V - 1}.")
    return out


def judge(forward: Forward, n: Dims, tokens: np.ndarray, start: int, when: str) -> None:
    """Raise Failed where the tokens from ``start`` on are far likelier under a known mistake than when drawn rightly.

    Drawn rightly, the likelihood ratio of any one alternative exceeds 1e9 with a probability of at most 1e-9 (Markov).
    """
    ratios = dict.fromkeys(ALTERNATIVES, 0.0)
    from_first = forward(tokens[:, : n.T_max])[:, -1]
    alike = 0.0  # log probability that independent rows draw the same tokens throughout
    positions = range(start, tokens.shape[1])
    contexts = [tokens[:, max(0, position - n.T_max) : position] for position in positions]
    for position, places in zip(positions, along(forward, contexts), strict=True):
        right = places[:, -1]
        others = {
            "blindly": np.full_like(right, 1 / n.V),
            "from the logits at the first position": places[:, 0],
            "from the logits of another row": np.roll(right, 1, 0),
            "from the first tokens instead of the last": from_first if position > n.T_max else right,
        }
        drawn = tokens[:, position]
        for name, wrong in others.items():
            ratios[name] += float((_log(wrong, drawn) - _log(right, drawn)).sum())
        alike += math.log(right.prod(0).sum() + 1e-300)
    name = max(ratios, key=lambda name: ratios[name])
    if ratios[name] > UNLIKELY + math.log(len(ratios)):
        raise Failed(
            f"The new tokens {when} look drawn {name}: that is 1e{int(ratios[name] / math.log(10))} times likelier "
            f"than from the logits at the last position, for the last tokens of the same row.",
            ALTERNATIVES[name],
        )
    if len(tokens) > 1 and alike < -UNLIKELY and (tokens[1:, start:] == tokens[:1, start:]).all():
        raise Failed(
            f"All {len(tokens)} rows got the same new tokens {when}, although their prompts differ.",
            "Is one token drawn for the whole batch? torch.multinomial draws one for each row.",
        )


def along(forward: Forward, contexts: list[np.ndarray]) -> Iterator[np.ndarray]:
    """``forward`` of each of ``contexts`` (B, T): in one call for each width, where the batch makes no difference."""
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
    return np.asarray(np.log(np.maximum(np.take_along_axis(p, drawn[:, None], -1)[:, 0], 1e-300)))


def probabilities(model: Module, n: Dims, context: np.ndarray, seed: int = 0) -> np.ndarray:
    """(B, T) -> (B, T, V), or (B, 1, V) where only the last position is returned: softmax of the logits."""
    B, T = context.shape
    output = model(context, seed=seed)
    last_only = isinstance(output, np.ndarray) and output.shape == (B, 1, n.V)
    logits = ladder.logits(output, (B, 1 if last_only else T, n.V))
    exp = np.exp(logits.astype(np.float64) - logits.max(-1, keepdims=True))
    return np.asarray(exp / exp.sum(-1, keepdims=True))


def explain(model: Module, prompt: np.ndarray, new: int, T_max: int, error: Raised) -> NoReturn:
    """Raise ``error`` again, or that the model was given too much, where that was so. It scores nothing."""
    try:
        seen = model.inputs_during("generate", prompt, new)
    except StudentError:
        raise error from None
    longest = max((idx.shape[-1] for idx in seen), default=0)
    if longest > T_max:
        raise Failed(
            f"generate gave the model {longest} tokens at once, and T_max is {T_max}: {error}.",
            "Is the context cropped to the last T_max tokens before each call?",
        ) from None
    raise error


def sample(student: Student, assignment: Assignment, rng: np.random.Generator) -> str:
    """What the untrained model writes at the course configuration; nothing where the tokens have no characters."""
    n, (count, length) = assignment.course, SAMPLE
    if len(assignment.alphabet) != n.V:
        return ""
    try:
        model = student.build("GPT", n.arguments(), seed=int(rng.integers(1 << 31)))
        tokens = generate(student, model, np.zeros((count, 1), np.int64), length, n)
    except (Failed, StudentError):
        return ""  # a picture decides nothing
    return "".join(assignment.alphabet[token] for token in tokens[:, 1:].reshape(-1) if 0 <= token < n.V)
