"""The course configuration and the contract of what is handed in. Another course changes this file alone."""

from __future__ import annotations

import string
from dataclasses import dataclass

from autograder.files import BadInput


@dataclass(frozen=True, slots=True)
class Dims:
    """The sizes of one GPT, in the handout's letters and in the order of its constructor."""

    V: int  # vocabulary
    T_max: int  # longest context
    d: int  # width of the residual stream
    H: int  # heads per block
    L: int  # blocks

    def __post_init__(self) -> None:
        if min(self.V, self.T_max, self.d, self.H, self.L) < 1:
            raise BadInput(f"autograder/assignment.py: {self}: a size is below 1; make it larger")
        if self.d % self.H:
            raise BadInput(f"autograder/assignment.py: {self}: d is not a multiple of H; change one of them")

    def arguments(self) -> dict[str, int]:
        """The constructor arguments of GPT, in order."""
        return {"V": self.V, "T_max": self.T_max, "d": self.d, "H": self.H, "L": self.L}

    def __str__(self) -> str:
        return ", ".join(f"{name}={value}" for name, value in self.arguments().items())


@dataclass(frozen=True, slots=True)
class Definition:
    """A class or function that the student writes."""

    name: str
    module: str  # the file it is in, without .py
    task: str  # what the handout calls it
    what: str  # what it is, for someone who is about to write it
    optional: bool = False


@dataclass(frozen=True, slots=True)
class Assignment:
    """What every part of the grader knows about this course."""

    name: str
    course: Dims
    small: Dims  # pairwise distinct sizes, also from B and T of the checks, so that swapped axes cannot hide
    others: tuple[Dims, ...]  # further sizes for the parameter count
    alphabet: str  # the characters that the tokens stand for, in order; shown only where there are V of them
    contract: tuple[Definition, ...]  # in the order in which a student meets them: the first unwritten one comes next


ASSIGNMENT = Assignment(
    name="gpt-assembly",
    course=Dims(V=65, T_max=64, d=128, H=4, L=4),
    small=Dims(V=11, T_max=9, d=24, H=3, L=2),
    # No size is the course's or shared between two of them, so a term with the wrong letter in it shows.
    others=(
        Dims(V=11, T_max=9, d=24, H=3, L=2),
        Dims(V=17, T_max=10, d=30, H=2, L=3),
        Dims(V=31, T_max=21, d=40, H=5, L=1),
    ),
    alphabet="\n !$&',-.3:;?" + string.ascii_uppercase + string.ascii_lowercase,
    contract=(
        Definition("MultiHeadAttention", "gpt", "task 5.1", "H heads concatenated, then one projection"),
        Definition("MLP", "gpt", "task 5.2", "two nn.Linear with a GELU between them"),
        Definition("Block", "gpt", "task 5.3", "attention and MLP, each with a LayerNorm, adding to x"),
        Definition("GPT", "gpt", "task 5.3", "embeddings, L blocks, LayerNorm, unembedding"),
        Definition("shape_table", "gpt", "task 5.4 (4)", "a list of (stage, shape) for one forward pass"),
        Definition("parameter_count", "paper", "on paper, 2", "your formula for the number of parameters, by part"),
        Definition("parameter_shares", "paper", "task 5.4 (1)", "the same as percentages of the total"),
        Definition("block_matrices", "paper", "on paper, 2", "the matrices that the 12 of 12 L d^2 counts"),
        Definition("expected_initial_loss", "paper", "task 5.4 (3)", "the loss to expect before any training"),
        Definition("layer_norm_geometry", "paper", "on paper, 3", "LayerNorm as two projections"),
        Definition("BatchedMultiHeadAttention", "gpt", "going further", "all heads in one tensor", optional=True),
        Definition("qk_ov", "gpt", "going further", "the two products of each head's matrices", optional=True),
    ),
)
