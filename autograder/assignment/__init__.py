"""Everything that knows what a GPT is. A different course replaces this folder."""

from __future__ import annotations

from pathlib import Path

from autograder.assignment.contract import CONTRACT
from autograder.assignment.mistakes import EXCEPTIONS
from autograder.assignment.oracle import parameter_count
from autograder.assignment.sizes import SIZES
from autograder.core.assignment import Assignment

ASSIGNMENT = Assignment(
    module=__name__,
    folder=Path(__file__).parent,
    name="gpt-assembly",
    title="Assemble a GPT",
    topic="Transformers",
    contract=CONTRACT,
    oracle=f"{__name__}.oracle.server",
    figures=SIZES.course.arguments() | {"total": parameter_count.total(SIZES.course)},
    exceptions=EXCEPTIONS,
)
