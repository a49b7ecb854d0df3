"""Set the sizes of the course's model. Another course with other sizes changes this file alone."""

from __future__ import annotations

import string
from dataclasses import dataclass

from autograder.core.errors import BadInput


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
            raise BadInput(f"autograder/assignment/sizes.py: {self}: a size is below 1; make it larger")
        if self.d % self.H:
            raise BadInput(f"autograder/assignment/sizes.py: {self}: d is not a multiple of H; change one of them")

    def arguments(self) -> dict[str, int]:
        """Return the constructor arguments of GPT, in order."""
        return {"V": self.V, "T_max": self.T_max, "d": self.d, "H": self.H, "L": self.L}

    def __str__(self) -> str:
        return ", ".join(f"{name}={value}" for name, value in self.arguments().items())


@dataclass(frozen=True, slots=True)
class Sizes:
    """The sizes at which a model is graded."""

    course: Dims
    small: Dims  # pairwise distinct, and different from B and T in the checks, so that swapped axes show
    others: tuple[Dims, ...]  # further sizes for the parameter count
    alphabet: str  # the characters that the tokens stand for, in order; shown only if there are V of them


SIZES = Sizes(
    course=Dims(V=65, T_max=64, d=128, H=4, L=4),
    small=Dims(V=11, T_max=9, d=24, H=3, L=2),
    # No size here equals the course's or occurs in two of these configurations, so a term with the wrong letter gives
    # a wrong count.
    others=(
        Dims(V=11, T_max=9, d=24, H=3, L=2),
        Dims(V=17, T_max=10, d=30, H=2, L=3),
        Dims(V=31, T_max=21, d=40, H=5, L=1),
    ),
    alphabet="\n !$&',-.3:;?" + string.ascii_uppercase + string.ascii_lowercase,
)
