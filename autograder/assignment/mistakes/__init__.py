"""List the known mistakes, one row each, one file per component or criterion.

A row is a constant of its file: code that needs this mistake refers to the constant. A new one needs a row and a file
in tests/bank/mistakes. This package never imports torch.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from types import ModuleType

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
from autograder.assignment.mistakes.row import Effect, Mistake
from autograder.assignment.oracle.model import Steps, combine
from autograder.assignment.oracle.parameter_count import ParameterCounts

__all__ = [
    "EXCEPTIONS",
    "MISTAKES",
    "Effect",
    "Mistake",
    "explain_counts",
    "filter_by_effect",
    "named",
    "of",
    "rebuild_steps",
]


def _rows(*parts: ModuleType) -> tuple[Mistake, ...]:
    return tuple(row for part in parts for row in vars(part).values() if isinstance(row, Mistake))


_OBSERVED = _rows(attention, mlp, norm, block, model, loss, initial_loss, parameters, generation, shapes, paper, bonus)
# Explanations are tried in this order.
MISTAKES = (*_OBSERVED, *_rows(exceptions))
EXCEPTIONS = (*_rows(exceptions), *(row for row in _OBSERVED if row.raises))
_BY_NAME = {mistake.name: mistake for mistake in MISTAKES}


def of(*components: str) -> tuple[Mistake, ...]:
    """Return the rows of these components, in the order of the components."""
    return tuple(row for component in components for row in MISTAKES if row.component == component)


def named(name: str) -> Mistake:
    """Return the row with this name, as it comes from another process."""
    return _BY_NAME[name]


def rebuild_steps(numbered: Iterable[tuple[str, int]]) -> Steps:
    """Return the oracle's steps with these mistakes, each given as its name and the number of its ``steps``."""
    return combine(named(name).steps[number] for name, number in numbered)


def filter_by_effect(effect: Effect, rows: Collection[Mistake]) -> list[Mistake]:
    """Return the mistakes among ``rows`` that have this effect, by name."""
    return sorted((row for row in rows if effect in row.effects), key=lambda row: row.name)


def explain_counts(counted: Sequence[ParameterCounts], seen: Collection[Mistake]) -> dict[str, list[Mistake]]:
    """Return, for each part that is off, the mistakes that explain its counts and tensors at every size.

    ``seen`` are the mistakes that outputs have shown.
    """
    wrong = [part for part in counted[0].parts if any(c.delta(part) for c in counted)]
    return {
        part: [
            row
            for row in MISTAKES
            if any(
                change.part == part
                and (change.is_proof or row in seen)
                and all(change.delta(c) == c.delta(part) and change.has_tensors(c) for c in counted)
                for change in row.counts
            )
        ]
        for part in wrong
    }
