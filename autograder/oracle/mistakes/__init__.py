"""Known mistakes: one row each, by what they are made in. A new one is a row here and a file in tests/bank/mistakes.

Readable without torch.
"""

from __future__ import annotations

from autograder.oracle.mistakes import attention, block, mlp, model, norm, outside, python
from autograder.oracle.mistakes.row import Mistake

__all__ = ["MISTAKES", "Mistake", "named", "of"]

# In the order in which explanations are tried.
MISTAKES: tuple[Mistake, ...] = tuple(
    row for part in (attention, mlp, block, norm, model, outside, python) for row in part.ROWS
)
_BY_NAME = {mistake.name: mistake for mistake in MISTAKES}


def of(*components: str) -> tuple[Mistake, ...]:
    """The rows of these components."""
    return tuple(mistake for mistake in MISTAKES if mistake.component in components)


def named(name: str) -> Mistake:
    """The row of that name."""
    return _BY_NAME[name]
