"""Explain an exception in student code: the call, what was raised, and the cause if it is a common one."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterable

from autograder.core.assignment import Cause
from autograder.core.text import clean
from autograder.sandbox.remote.client import RemoteException
from autograder.sandbox.remote.errors import Raised

WIDTH, MAX_LINES = 76, 4  # of a message: a terminal of 80 columns, minus the indent
TEXT_LENGTHS = (400, 240, 160, 100, 56)  # characters kept of the exception's text, most first
MAX_SHAPES = 4  # tensors whose shapes are shown


def find_cause(remote: RemoteException, known: Iterable[Cause]) -> Cause | None:
    """Return the first of the ``known`` mistakes that causes such an exception, or None."""
    for mistake in known:
        if any(kind in remote.kinds and re.search(pattern, remote.text) for kind, pattern in mistake.raises):
            return mistake
    return None


def format_exception(error: Raised, cause: Cause | None = None) -> str:
    """Return the message: the call, the exception with its text, and its ``cause``, if known; not the location."""
    remote = error.remote
    if "SyntaxError" in remote.kinds:
        file = remote.frames[-1].file if remote.frames else error.call
        return f"{file} is not valid Python: {_end(remote.text)}"
    message = ""
    for length in TEXT_LENGTHS:
        message = f"{describe_exception(error, length)} {_explain(remote, cause)}".strip()
        if fits_message(message):
            break
    return message


def _end(text: str) -> str:
    """Return ``text`` with a full stop, unless it ends a sentence already."""
    return text if text[-1:] in ".?…" else f"{text}."


def fits_message(message: str) -> bool:
    """Return whether a message is at most LINES lines long."""
    return len(textwrap.wrap(message, WIDTH)) <= MAX_LINES


def describe_exception(error: Raised, length: int = 160) -> str:
    """Return the call that raised, or the file whose import did, and ``length`` characters of the exception."""
    remote = error.remote
    raised = _end(f"{remote.type}: {clean(' '.join(remote.text.split()), length)}".removesuffix(": "))
    if error.call.endswith((".py", ".ipynb")):
        return f"{remote.frames[-1].file if remote.frames else error.call} could not be imported: {raised}"
    return f"{error.call} raised {raised}"


def _explain(remote: RemoteException, known: Cause | None) -> str:
    """Return a sentence on the cause: the known mistake, or the shapes involved; empty if there is neither."""
    text = remote.text
    if found := re.search(r"mat1 and mat2 shapes cannot be multiplied \((\d+)x(\d+) and (\d+)x(\d+)\)", text):
        _, given, taken, _ = found.groups()
        return f"The input has {given} features; the weight expects {taken}.{_format_shapes(remote)}"
    if found := re.search(r"normalized_shape=\[(\d+)\].*size\[([\d, ]+)\]", text):
        return f"The norm expects {found[1]} features; its input has shape ({found[2]})."
    near = f" Did you mean {remote.near}?" if remote.near else ""
    if known is None:
        return f"{_format_shapes(remote)}{near}".strip()
    return f"{known.sentence}{near}"


def _format_shapes(remote: RemoteException) -> str:
    """Return a sentence with the shapes of the tensors named on the line that raised."""
    shown = [f"{clean(name, 24)} is {shape}" for name, shape in remote.shapes[:MAX_SHAPES]]
    return f" Here {', '.join(shown[:-1])}{' and ' if shown[1:] else ''}{shown[-1]}." if shown else ""
