"""Give a check that did not pass its status and message; define the exceptions that checks raise."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from autograder.core.assignment import Cause
from autograder.core.text import insert_before_end
from autograder.grading import exceptions
from autograder.grading.report import Status
from autograder.sandbox.remote.errors import Crashed, ImportFailed, NotDefined, Raised, StudentError, TimeLimitReached


class Failed(Exception):
    """A measured result differs from the expected one. ``seen`` gives the numbers, ``hint`` a possible cause.

    ``causes`` are the known mistakes that reproduce the measurement exactly: all of them together, or with ``either``,
    any one.
    ``error`` is the exception that the message explains, if there was one; ``part`` the class built with wrong
    arguments; ``symptom`` what a value shows wherever it goes, so that later checks that show it have the same cause.
    """

    status: Status = "failed"

    def __init__(
        self,
        seen: str,
        hint: str = "",
        causes: Sequence[Cause] = (),
        either: bool = False,
        error: Raised | None = None,
        part: str = "",
        symptom: str = "",
    ) -> None:
        parts = [(cause, last) for last in (hint, "") for cause in _format_causes(causes, either)]
        explanations = [" ".join(filter(None, pair)) for pair in parts]
        messages = [f"{seen} {explanation}".strip() for explanation in explanations]
        self.measured = seen
        self.explanation = next(filter(exceptions.fits_message, explanations), explanations[-1])
        super().__init__(next(filter(exceptions.fits_message, messages), messages[-1]))
        self.causes, self.error, self.part, self.symptom = tuple(causes), error, part, symptom
        self.diagnosis = [(cause.name, cause.sentence) for cause in causes]


def _format_causes(causes: Sequence[Cause], either: bool) -> list[str]:
    """Return the causes as text, in a full and a shorter form."""
    if not causes:
        return [""]
    tasks = ", ".join(dict.fromkeys(cause.task for cause in causes))
    between = " Or: " if either else " "
    joined = insert_before_end(between.join(cause.sentence for cause in causes), tasks)
    first = insert_before_end(causes[0].sentence, causes[0].task)
    return [causes[0].full_text, first] if len(causes) == 1 else [joined] if either else [joined, first]


class Partial(Failed):
    """A ``share`` of the check's requirement is met, by default half of it."""

    status: Status = "partial"

    def __init__(self, *arguments: Any, share: float = 0.5, **named: Any) -> None:
        super().__init__(*arguments, **named)
        self.share = share


@dataclass(frozen=True, slots=True)
class Explanation:
    """The status and message of a student error."""

    status: Status
    message: str
    diagnosis: tuple[tuple[str, str], ...] = ()


def explain_error(error: StudentError, needs: tuple[str, ...], known: Iterable[Cause]) -> Explanation:
    """Return status and message for a call that returned no value, in a check that needs the definitions ``needs``.

    The check grades the first of ``needs``: if that, or its file, is absent, the status is ``not_implemented``; for any
    other it is ``blocked``. ``known`` are the mistakes that an exception can identify.
    """
    if isinstance(error, ImportFailed) and error.name in needs[:1]:
        error = Raised(error.call, error.remote)
    if isinstance(error, NotDefined):
        if error.name in needs[:1] or error.name.endswith(".py"):
            return Explanation("not_implemented", f"{error}.")
        return Explanation("blocked", f"{error}. This check depends on it.")
    if isinstance(error, TimeLimitReached):
        hint = "Is there an infinite loop?"
        if error.call.endswith(".py"):
            hint = 'Code outside of functions runs at import: put it under `if __name__ == "__main__":`.'
        return Explanation("timeout", f"{error.call}: {error}. {hint}")
    if isinstance(error, Crashed):
        return Explanation("crashed", f"{error.call}: {error}. Does the code exit the process or run out of memory?")
    if isinstance(error, Raised):
        cause = exceptions.find_cause(error.remote, known)
        diagnosis = ((cause.name, cause.sentence),) if cause else ()
        return Explanation("failed", exceptions.format_exception(error, cause), diagnosis)
    raise TypeError(f"unknown kind of StudentError: {error!r}")


class Notes:
    """A passing check's remark and its measurements."""

    def __init__(self) -> None:
        self.message = ""
        self.evidence: dict[str, Any] = {}

    def remark(self, message: str) -> None:
        """Set the sentence shown beside a passed check."""
        self.message = message

    def record(self, **evidence: Any) -> None:
        """Record measured values in the report: numbers, strings, and lists and dicts of these."""
        self.evidence.update(evidence)
