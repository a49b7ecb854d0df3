"""Turn a check that did not pass into a verdict: exceptions that checks raise, and messages for student errors."""

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
    """The measured result is not the expected one. ``seen`` gives the numbers, ``hint`` a possible cause.

    ``causes`` are the known mistakes that reproduce the measurement exactly: all of them together, or ``either`` one.
    """

    status: Status = "failed"

    def __init__(self, seen: str, hint: str = "", causes: Sequence[Mistake] = (), either: bool = False) -> None:
        said = [" ".join(filter(None, (seen, cause, hint))) for cause in _told(causes, either)]
        super().__init__(next(filter(raised.fits, said), said[-1]))
        self.diagnosis = [(cause.name, cause.sentence) for cause in causes]


def _told(causes: Sequence[Mistake], either: bool) -> list[str]:
    """Return the causes as text, in full and shorter."""
    if not causes:
        return [""]
    tasks = ", ".join(dict.fromkeys(cause.task for cause in causes))
    between = " Or: " if either else " "
    joined = placed(between.join(cause.sentence for cause in causes), tasks)
    first = placed(causes[0].sentence, causes[0].task)
    return [causes[0].told, first] if len(causes) == 1 else [joined] if either else [joined, first]


class Partial(Failed):
    """Half of the check's requirement is met."""

    status: Status = "partial"


@dataclass(frozen=True, slots=True)
class Told:
    """A student error as status and message."""

    status: Status
    message: str
    diagnosis: tuple[tuple[str, str], ...] = ()


def tell(error: StudentError, needs: tuple[str, ...]) -> Told:
    """Return status and message for a call that returned no value, in a check that needs the definitions ``needs``.

    The check grades the first of ``needs``: if that is absent it is ``missing``; for any other it is ``blocked``.
    """
    if isinstance(error, Broken) and error.name in needs[:1]:
        error = Raised(error.call, error.remote)
    if isinstance(error, Absent):
        if error.name in (*needs[:1], "paper.py"):
            return Told("missing", f"{error}.")
        return Told("blocked", f"{error}. This check depends on it.")
    if isinstance(error, OutOfTime):
        return Told("timeout", f"{error.call}: {error}. Is there an infinite loop?")
    if isinstance(error, Crashed):
        return Told("crashed", f"{error.call}: {error}. Does the code exit the process or run out of memory?")
    if isinstance(error, Raised):
        known = raised.cause(error.remote)
        return Told("failed", raised.told(error), ((known.name, known.sentence),) if known else ())
    raise TypeError(f"unknown kind of StudentError: {error!r}")


class Notes:
    """A passing check's remark and its measurements."""

    def __init__(self) -> None:
        self.message = ""
        self.evidence: dict[str, Any] = {}

    def say(self, message: str) -> None:
        """Set the sentence shown beside a passed check."""
        self.message = message

    def show(self, **evidence: Any) -> None:
        """Record measured values in the report: numbers, strings, and lists and dicts of these."""
        self.evidence.update(evidence)
