"""List the known mistakes, one row each, by component. A new one needs a row and a file in tests/bank/mistakes.

Imports without torch.
"""

from __future__ import annotations

from autograder.oracle.mistakes import attention, block, mlp, model, norm, outside, python
from autograder.oracle.mistakes.row import Mistake

__all__ = ["MISTAKES", "Mistake", "named", "of"]

# Explanations are tried in this order.
MISTAKES: tuple[Mistake, ...] = tuple(
    row for part in (attention, mlp, block, norm, model, outside, python) for row in part.ROWS
)
_BY_NAME = {mistake.name: mistake for mistake in MISTAKES}


def of(*components: str) -> tuple[Mistake, ...]:
    """Return the rows of these components."""
    return tuple(mistake for mistake in MISTAKES if mistake.component in components)


def named(name: str) -> Mistake:
    """Return the row with this name."""
    return _BY_NAME[name]
