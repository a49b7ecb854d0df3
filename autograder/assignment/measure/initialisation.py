"""The initial logits of GPT, the loss that they give, and the causes of a wrong one."""

from __future__ import annotations

import math
from importlib import resources

import numpy as np

from autograder.assignment import mistakes
from autograder.assignment.measure import outputs, parameter_usage, whole_model
from autograder.assignment.measure.comparison import format_percent
from autograder.assignment.measure.whole_model import WholeModel
from autograder.assignment.mistakes import Effect, Mistake
from autograder.assignment.sizes import Dims, Sizes
from autograder.grading.verdict import Failed
from autograder.sandbox.remote.proxy import ModuleProxy
from autograder.sandbox.remote.student_code import StudentCode

BELOW, ABOVE = 0.024, 0.276  # the window around ln V: 4.15 to 4.45 for V=65
BATCH = 1  # rows of T_max tokens: with the mean over all targets, the loss is known to 0.006
ROWS_OF_TEXT = 4  # with one target per position
ORACLE_TOLERANCE = (
    0.05  # relative to the largest logit: with embeddings as small as 0.01, a different eps in a norm changes 1%
)
LOSS_TOLERANCE = 0.25  # relative; logits are only roughly normal


def initial_logits(
    student: StudentCode, whole: WholeModel, steady: bool, n: Dims, seed: int, idx: np.ndarray
) -> tuple[ModuleProxy, np.ndarray]:
    """Return GPT as initialised by ``seed``, and its logits (B, T, V) in float64, from the oracle or else a replica.

    Args:
        student: The submission.
        whole: The comparison of the full model, which says whether the oracle knows it.
        steady: Whether forward is deterministic, so that the two sides have to agree.
        n: The sizes of the model.
        seed: The seed of its initial weights.
        idx: The tokens (B, T).

    Raises:
        Failed: The model's own logits differ from those of the other side, so the model does not compute with its
        weights.
    """
    initial = student.build("GPT", n.arguments(), seed=seed)
    outputs.require_affordable(initial)
    with outputs.blaming_initial_weights(initial):
        logits = outputs.require_logits(initial(idx), (*idx.shape, n.V))
    weights = initial.pull()  # after forward, which may change weights in place
    known = whole.composed(initial, n, weights)
    right, tolerance = known.logits(idx) if known else None, ORACLE_TOLERANCE
    if right is None:
        # The same seed, so that unregistered tensors are equal too.
        replica = student.replica.build("GPT", n.arguments(), seed=seed)
        replica.push(weights)
        right, tolerance = outputs.require_logits(replica(idx), (*idx.shape, n.V)), whole_model.CLOSE
    gap = float(np.abs(logits - right).max() / max(1.0, float(np.abs(right).max())))
    if steady and not gap <= tolerance:
        raise Failed(
            f"Before training, GPT's logits differ from those of a copy with the same weights by "
            f"{format_percent(gap)} of the largest.",
            parameter_usage.PLAIN,
        )
    return initial, right.astype(np.float64)


def expected_losses(n: Dims) -> dict[str, float]:
    """Return ln V + d std^2 / 2 for the two usual initialisations of the unembedding."""
    chance = math.log(n.V)
    return {
        "expected with nn.Linear's own": chance + 1 / 6,
        "expected with GPT-2's std 0.02": chance + n.d * 0.02**2 / 2,
    }


def load_sample_text(sizes: Sizes) -> tuple[np.ndarray, np.ndarray]:
    """Return English text as tokens and targets (B, T); no rows if the alphabet is not the course's."""
    n, alphabet = sizes.course, sizes.alphabet
    if len(alphabet) != n.V:
        return np.empty((0, n.T_max), np.int64), np.empty((0, n.T_max), np.int64)
    text = resources.files("autograder.assignment").joinpath("sample_text.txt").read_text("utf-8")
    tokens = np.array([alphabet.index(c) for c in text[: ROWS_OF_TEXT * n.T_max + 1]])
    return tokens[:-1].reshape(-1, n.T_max), tokens[1:].reshape(-1, n.T_max)


def explain_loss(initial: ModuleProxy, n: Dims, loss: float, deducted: set[Mistake]) -> tuple[str, list[Mistake]]:
    """Explain a wrong initial loss by a mistake found in GPT's own check, or by the unembedding's initialisation."""
    if known := mistakes.filter_by_effect(Effect.CHANGES_INITIAL_LOSS, deducted):
        return "", known
    # After a LayerNorm a logit has variance d std^2, which adds d std^2 / 2 to the loss.
    tables = [w for w in initial.pull().values() if w.shape in ((n.V, n.d), (n.d, n.V))]
    spread = f"({', '.join(f'{w.std():.2f}' for w in tables)}; nn.Linear's is {1 / math.sqrt(3 * n.d):.2f})"
    for w in tables:
        if math.isclose(loss - math.log(n.V), n.d * float(w.std()) ** 2 / 2, rel_tol=LOSS_TOLERANCE):
            return f"The standard deviation of the unembedding's entries is {w.std():.2f}.", [
                mistakes.initial_loss.UNEMBEDDING_INIT_STD
            ]
    return f"Is the standard deviation of the V x d matrices {spread} too large, or the final LayerNorm missing?", []
