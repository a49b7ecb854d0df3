"""Define a row of the tables of known mistakes in this package."""

from __future__ import annotations

from dataclasses import dataclass

from autograder.core.text import insert_before_end


@dataclass(frozen=True, slots=True)
class Mistake:
    """Hold the message for a mistake, and the variants of a step with which the oracle reproduces it.

    ``step`` and each of ``variants`` are an entry of the oracle's ``steps`` (``oracle/model.py``). A mistake that
    depends on the student's choice, such as a fill value, has several variants; one that tensors, counts or another
    observation identify has none. An ``accepted`` row deducts nothing, and its sentence is a remark.
    """

    component: str
    task: str  # as numbered in the handout, such as "task 5.1"
    name: str
    sentence: str  # the actual behaviour and the expected one
    look: str  # completes "Look at ..."
    step: str = ""
    variants: tuple[str, ...] = ()
    accepted: bool = False
    raises: tuple[tuple[str, str], ...] = ()  # exceptions that identify it: type, pattern in the text

    @property
    def full_text(self) -> str:
        """Join the sentence, the place to look, and the task."""
        if self.accepted:
            return self.sentence
        look = f"Look at {self.look}{'' if self.look.endswith('?') else '.'}"
        return f"{self.sentence} {insert_before_end(look, self.task)}"
