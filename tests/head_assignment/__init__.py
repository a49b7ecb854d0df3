"""A tiny assignment, one head of causal attention: it shows how to write one, and runs through the whole engine."""

from __future__ import annotations

from pathlib import Path

from autograder.core.assignment import Assignment, Contract, Definition
from tests.head_assignment.mistakes import MISTAKES

ASSIGNMENT = Assignment(
    module=__name__,
    folder=Path(__file__).parent,
    name="attention-head",
    title="One attention head",
    topic="Attention",
    contract=Contract(
        main="attention",
        definitions=(Definition("Head", "attention", "task 4.1", "a weighted average of the values"),),
    ),
    oracle=f"{__name__}.oracle",
    exceptions=tuple(MISTAKES.values()),
)
