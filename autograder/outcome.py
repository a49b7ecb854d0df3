"""How a check ends when it does not pass: the exceptions a check raises, and what a student reads for the others."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from autograder.sandbox.errors import Absent, Broken, Crashed, OutOfTime, Raised, StudentError

Status = Literal["passed", "partial", "failed", "missing", "blocked", "timeout", "crashed", "skipped", "error"]


class Failed(Exception):
    """What was seen is not what is asked for. ``seen`` says it in numbers, ``hint`` names one likely cause.

    ``diagnosis`` lists (mistake, sentence) for causes that fit what was measured.
    """

    status: Status = "failed"

    def __init__(self, seen: str, hint: str = "", diagnosis: list[tuple[str, str]] | None = None) -> None:
        super().__init__(f"{seen} {hint}".strip())
        self.diagnosis = diagnosis or []


class Partial(Failed):
    """Half of what the check asks for is there."""

    status: Status = "partial"


@dataclass(frozen=True, slots=True)
class Told:
    """A student error in words."""

    status: Status
    message: str


def tell(error: StudentError, needs: tuple[str, ...]) -> Told:
    """Status and message for a call that did not end in a value, in a check that needs the definitions ``needs``.

    The first of ``needs`` is what the check is about: its absence is ``missing``; any other absence is ``blocked``.
    """
    if isinstance(error, Broken) and error.name in needs[:1]:
        return Told("failed", raised(Raised(error.call, error.remote)))
    if isinstance(error, Absent):
        if error.name in (*needs[:1], "paper.py"):
            return Told("missing", f"{error}.")
        return Told("blocked", f"{error}. This check rests on it.")
    if isinstance(error, OutOfTime):
        return Told("timeout", f"{error.call}: {error}. Is there a loop whose condition never becomes false?")
    if isinstance(error, Crashed):
        return Told("crashed", f"{error.call}: {error}. Does the code end the process, or use up its memory?")
    if isinstance(error, Raised):
        return Told("failed", raised(error))
    raise TypeError(f"an unknown kind of StudentError: {error!r}")


def raised(error: Raised) -> str:
    """An exception of the student's code in a sentence or two, with their own line."""
    remote = error.remote
    file, line, where, text = remote.frames[-1] if remote.frames else ("", 0, "", "")
    quoted = f" `{text}`" if text else ""
    if "SyntaxError" in remote.kinds:
        return f"{file or error.call} cannot be read as Python: line {line}:{quoted}: {remote.text}."
    what = f"{remote.type}: {remote.text}" if remote.text else remote.type
    if error.call.endswith((".py", ".ipynb")):
        return f"{file or error.call} stops while it is being loaded, at line {line}:{quoted} raised {what}."
    place = f" in {where} ({file}, line {line}):{quoted}" if file else ""
    return f"{error.call} raised {what}{place}."


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
