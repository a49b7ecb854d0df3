"""Define a row of the tables of known mistakes in this package."""

from __future__ import annotations

import enum
from collections.abc import Callable
from dataclasses import dataclass

from autograder.assignment.oracle.model import Steps
from autograder.assignment.oracle.parameter_count import ParameterCounts
from autograder.core.text import insert_before_end

# The method or function with the mistakes of a component; those of others can be anywhere.
METHODS = {
    "attention": "MultiHeadAttention.forward",
    "mlp": "MLP.forward",
    "block": "Block.forward",
    "norm": "Block.__init__",
    "model": "GPT.forward",
    "loss": "GPT.forward",
    "initial_loss": "GPT.__init__",
    "parameters": "GPT.__init__",
    "generation": "GPT.generate",
    "shapes": "shape_table",
}
# Patterns of the line that has a step of the oracle's computation.
STEP_CODE = {
    "normalise": r"\b(var|std|mean)\(|Norm\(|eps",
    "scale": r"sqrt|\*\*|\bscale",
    "mask": r"masked_fill|where\(|\binf\b|1e|is_causal",
    "softmax": "softmax",
    "attend": r"@|matmul|einsum",
    "merge": r"reshape|view\(|flatten|rearrange",
    "split": r"reshape|view\(|unflatten|rearrange",
    "project": r"\breturn\b",
    "feed_forward": r"elu|ELU|tanh|sigmoid|softplus|mish",
    "output": r"\breturn\b",
    "add_positions": r"pos|wpe|arange",
    "final_norm": "norm|ln_f",
    "run_blocks": r"\bfor\b",
}


class Effect(enum.Flag):
    """The effects that a mistake of one class has on the full model: a check explains them, and deducts nothing."""

    NONE = 0
    LEAKS_FUTURE = enum.auto()
    LOSES_PAST = enum.auto()
    MIXES_ROWS = enum.auto()
    WEIGHTS_DO_NOT_SUM_TO_ONE = enum.auto()
    LEAVES_PARAMETERS_UNUSED = enum.auto()
    CHANGES_RESIDUAL_STREAM = enum.auto()
    CHANGES_INITIAL_LOSS = enum.auto()
    DEFIES_CONSTANT_INPUT = enum.auto()  # equal tokens need not give equal logits, though the weights may sum to 1


@dataclass(frozen=True, slots=True)
class CountChange:
    """A change of the parameters counted in ``part``; ``has_tensors`` tells mistakes with equal changes apart.

    Most counts have more than one explanation, so that outputs must have shown the mistake too, unless ``is_proof``.
    """

    part: str
    delta: Callable[[ParameterCounts], int]
    has_tensors: Callable[[ParameterCounts], bool] = lambda counts: True
    is_proof: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class Mistake:
    """Hold everything about one mistake: its message and its effects.

    ``steps`` are the wrong models with which the oracle reproduces it. A mistake that depends on the student's choice,
    such as a fill value, has several; a mistake that tensors, counts or another observation identify has none. An
    ``accepted`` row deducts nothing, and its sentence is a remark.
    """

    component: str
    task: str  # as numbered in the handout, such as "task 5.1"
    name: str
    sentence: str  # the actual behaviour and the expected one
    look: str  # completes "Look at ..."
    steps: tuple[Steps, ...] = ()
    effects: Effect = Effect.NONE
    counts: tuple[CountChange, ...] = ()
    raises: tuple[tuple[str, str], ...] = ()  # exceptions that identify it: type, pattern in the text
    accepted: bool = False
    method: str = ""  # if the mistake is not in its component's usual method
    code: str = ""  # pattern of the line with the mistake, if it is not that of its wrong step

    @property
    def where(self) -> str:
        """Return the method or function that has the mistake; "" if it can be anywhere."""
        usual = METHODS.get(self.component, "")
        return f"{usual.partition('.')[0]}.{self.method}" if self.method else usual

    @property
    def pattern(self) -> str:
        """Return the pattern of the line that has the mistake; "" if there is none."""
        changed = next((name for steps in self.steps for name in steps.changes()), "")
        return self.code or STEP_CODE.get(changed, "")

    @property
    def full_text(self) -> str:
        """Join the sentence, the place to look, and the task."""
        if self.accepted:
            return self.sentence
        look = f"Look at {self.look}{'' if self.look.endswith('?') else '.'}"
        return f"{self.sentence} {insert_before_end(look, self.task)}"
