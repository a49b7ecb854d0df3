"""How a check ends when it does not pass: the exceptions a check raises, and what a student reads for the others."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

from autograder import raised
from autograder.oracle.mistakes import Mistake
from autograder.oracle.mistakes.row import placed
from autograder.sandbox.errors import Absent, Broken, Crashed, OutOfTime, Raised, StudentError

Status = Literal["passed", "partial", "failed", "missing", "blocked", "timeout", "crashed", "skipped", "error"]


class Failed(Exception):
    """What was seen is not what is asked for. ``seen`` says it in numbers, ``hint`` says what may have led to it.

    ``causes`` are the known mistakes that make exactly what was measured: all of them together, or ``either`` one.
    """

    status: Status = "failed"

    def __init__(self, seen: str, hint: str = "", causes: Sequence[Mistake] = (), either: bool = False) -> None:
        said = [" ".join(filter(None, (seen, cause, hint))) for cause in _told(causes, either)]
        super().__init__(next(filter(raised.fits, said), said[-1]))
        self.diagnosis = [(cause.name, cause.sentence) for cause in causes]


def _told(causes: Sequence[Mistake], either: bool) -> list[str]:
    """What the causes are, said in full and shorter."""
    if not causes:
        return [""]
    tasks = ", ".join(dict.fromkeys(cause.task for cause in causes))
    between = " Or: " if either else " "
    joined = placed(between.join(cause.sentence for cause in causes), tasks)
    first = placed(causes[0].sentence, causes[0].task)
    return [causes[0].told, first] if len(causes) == 1 else [joined] if either else [joined, first]


class Partial(Failed):
    """Half of what the check asks for is there."""

    status: Status = "partial"


@dataclass(frozen=True, slots=True)
class Told:
    """A student error in words."""

    status: Status
    message: str
    diagnosis: tuple[tuple[str, str], ...] = ()


def tell(error: StudentError, needs: tuple[str, ...]) -> Told:
    """Status and message for a call that did not end in a value, in a check that needs the definitions ``needs``.

    The first of ``needs`` is what the check is about: its absence is ``missing``; any other absence is ``blocked``.
    """
    if isinstance(error, Broken) and error.name in needs[:1]:
        error = Raised(error.call, error.remote)
    if isinstance(error, Absent):
        if error.name in (*needs[:1], "paper.py"):
            return Told("missing", f"{error}.")
        return Told("blocked", f"{error}. This check rests on it.")
    if isinstance(error, OutOfTime):
        return Told("timeout", f"{error.call}: {error}. Is there a loop whose condition never becomes false?")
    if isinstance(error, Crashed):
        return Told("crashed", f"{error.call}: {error}. Does the code end the process, or use up its memory?")
    if isinstance(error, Raised):
        known = raised.cause(error.remote)
        return Told("failed", raised.told(error), ((known.name, known.sentence),) if known else ())
    raise TypeError(f"an unknown kind of StudentError: {error!r}")


class Notes:
    """What a check wants to say although it passes, and what it measured."""

    def __init__(self) -> None:
        self.message = ""
        self.evidence: dict[str, Any] = {}

    def say(self, message: str) -> None:
        """The sentence shown beside a passed check."""
        self.message = message

    def show(self, **evidence: Any) -> None:
        """Measured values, kept in the report: numbers, texts, and lists and dicts of these."""
        self.evidence.update(evidence)
