"""The known mistakes: one row each. Imports without torch."""

from __future__ import annotations

from typing import NamedTuple

TASK = "task 4.1"


class Mistake(NamedTuple):
    """A mistake in ``Head.forward``, reproduced by the oracle unless an exception identifies it."""

    name: str
    sentence: str
    look: str
    task: str = TASK
    raises: tuple[tuple[str, str], ...] = ()
    where: str = "Head.forward"
    pattern: str = ""

    @property
    def full_text(self) -> str:
        return f"{self.sentence} Look at {self.look} ({self.task})."


ROWS = (
    Mistake(
        "scale_missing",
        "The attention scores are not scaled; divide them by sqrt(d_head).",
        "the line that computes q @ k.transpose(1, 2)",
    ),
    Mistake(
        "mask_missing",
        "There is no causal mask, so each position also attends to later ones.",
        "the scores before the softmax: masked ones are -inf",
    ),
    Mistake(
        "mask_not_sliced",
        "The mask is not sliced to the T positions of the input.",
        "the use of self.mask: it needs [:T, :T]",
        raises=(("RuntimeError", r"size of tensor a \(\d+\) must match the size of tensor b"),),
    ),
)
MISTAKES = {row.name: row for row in ROWS}
