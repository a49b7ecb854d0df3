"""List the known mistakes, one row each, one file per component or criterion.

A new one needs a row and a file in tests/bank/mistakes. Imports without torch.
"""

from __future__ import annotations

from autograder.assignment.mistakes import (
    attention,
    block,
    bonus,
    exceptions,
    generation,
    initial_loss,
    loss,
    mlp,
    model,
    norm,
    paper,
    parameters,
    shapes,
)
from autograder.assignment.mistakes.row import Mistake

__all__ = ["EXCEPTIONS", "MISTAKES", "Mistake", "named", "of"]

_PARTS = (attention, mlp, block, norm, model, loss, initial_loss, parameters, generation, shapes, paper, bonus)
# Explanations are tried in this order.
MISTAKES: tuple[Mistake, ...] = tuple(row for part in (*_PARTS, exceptions) for row in part.ROWS)
EXCEPTIONS = (*exceptions.ROWS, *(row for row in loss.ROWS if row.raises))
_BY_NAME = {mistake.name: mistake for mistake in MISTAKES}


def of(*components: str) -> tuple[Mistake, ...]:
    """Return the rows of these components."""
    return tuple(mistake for mistake in MISTAKES if mistake.component in components)


def named(name: str) -> Mistake:
    """Return the row with this name."""
    return _BY_NAME[name]
