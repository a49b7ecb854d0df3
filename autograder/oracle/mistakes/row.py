"""One known mistake: a row of the tables beside this file."""

from __future__ import annotations

from dataclasses import dataclass


def placed(sentence: str, tasks: str) -> str:
    """``sentence``, with the tasks it belongs to before its last sign."""
    return f"{sentence[:-1]} ({tasks}){sentence[-1]}"


@dataclass(frozen=True, slots=True)
class Mistake:
    """What a student is told of a mistake, and how the oracle computes it.

    ``step`` and ``ways`` are entries of the oracle's ``how`` (``gpt.py``); a mistake has several ways where a number in
    it is the student's own. Both are empty where tensors, counts or another observation show it. What is ``accepted``
    costs nothing, and its sentence is a remark.
    """

    component: str
    task: str  # the handout's number, as "task 5.1"
    name: str
    sentence: str  # what the code does, and what it should do
    look: str  # where to look
    step: str = ""
    ways: tuple[str, ...] = ()
    accepted: bool = False

    @property
    def told(self) -> str:
        """The sentence, and where to look."""
        if self.accepted:
            return self.sentence
        look = f"Look at {self.look}{'' if self.look.endswith('?') else '.'}"
        return f"{self.sentence} {placed(look, self.task)}"
