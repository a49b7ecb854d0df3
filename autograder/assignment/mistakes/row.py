"""Define a row of the tables of known mistakes in this package."""

from __future__ import annotations

from dataclasses import dataclass

from autograder.core.text import insert_before_end


@dataclass(frozen=True, slots=True)
class Mistake:
    """Hold the message for a mistake, and how the oracle reproduces it.

    ``step`` and ``ways`` are entries of the oracle's ``how`` (``gpt.py``), several if the mistake depends on a number
    that the student chose, and empty if tensors, counts or another observation identify the mistake.
    An ``accepted`` row deducts nothing, and its sentence is a remark.
    """

    component: str
    task: str  # as numbered in the handout, such as "task 5.1"
    name: str
    sentence: str  # the actual behaviour and the expected one
    look: str  # completes "Look at ..."
    step: str = ""
    ways: tuple[str, ...] = ()
    accepted: bool = False
    raises: tuple[tuple[str, str], ...] = ()  # exceptions that identify it: type, pattern in the text

    @property
    def full_text(self) -> str:
        """Join the sentence, the place to look, and the task."""
        if self.accepted:
            return self.sentence
        look = f"Look at {self.look}{'' if self.look.endswith('?') else '.'}"
        return f"{self.sentence} {insert_before_end(look, self.task)}"
