"""Explain an exception in student code: the student's line, the exception, and the cause if it is a common one."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterable

from autograder.core.assignment import Cause
from autograder.core.text import clean
from autograder.sandbox.remote.client import RemoteException
from autograder.sandbox.remote.errors import Raised

WIDTH, MAX_LINES = 76, 4  # of a message: a terminal of 80 columns, minus the indent
# How many characters to keep of the quoted line and of the exception's text, widest first. PyTorch often names the
# remedy at the end, so that an unexplained text is cut last.
EXPLAINED_LENGTHS = ((64, 56), (48, 40), (32, 28), (20, 20))
UNEXPLAINED_LENGTHS = ((64, 240), (40, 240), (20, 240), (20, 200), (20, 160), (20, 120), (20, 80), (20, 40), (20, 28))
MAX_QUOTE = 64  # characters of a quoted line
MAX_SHAPES = 4  # tensors whose shapes are shown


def find_cause(remote: RemoteException, known: Iterable[Cause]) -> Cause | None:
    """Return the first of the ``known`` mistakes that causes such an exception, or None."""
    for mistake in known:
        if any(kind in remote.kinds and re.search(pattern, remote.text) for kind, pattern in mistake.raises):
            return mistake
    return None


def format_exception(error: Raised, cause: Cause | None = None) -> str:
    """Return the message: where it was raised, the student's line, the exception and its ``cause``, if known."""
    remote = error.remote
    if "SyntaxError" in remote.kinds:
        file, line, _, text = remote.frames[-1] if remote.frames else (error.call, 0, "", "")
        return f"{file} is not valid Python: line {line}{_quote(text, MAX_QUOTE)}: {_end(remote.text)}"
    message = ""
    for quoted, kept in EXPLAINED_LENGTHS if cause else UNEXPLAINED_LENGTHS:
        text = clean(" ".join(remote.text.split()), kept)
        raised = f"{remote.type}: {text}".removesuffix(": ")
        message = f"{describe_location(error, quoted)} {_end(raised)} {_explain(remote, cause)}".strip()
        if fits_message(message):
            break
    return message


def _end(text: str) -> str:
    """Return ``text`` with a full stop, unless it ends a sentence already."""
    return text if text[-1:] in ".?…" else f"{text}."


def fits_message(message: str) -> bool:
    """Return whether a message is at most LINES lines long."""
    return len(textwrap.wrap(message, WIDTH)) <= MAX_LINES


def describe_location(error: Raised, quoted: int = MAX_QUOTE) -> str:
    """Return the call and the student's innermost line, where the exception was raised."""
    if not error.remote.frames:
        return f"In {error.call}:"
    file, line, where, text = error.remote.frames[-1]
    if error.call.endswith((".py", ".ipynb")):
        return f"{file} could not be imported: line {line}{_quote(text, quoted)}."
    if error.call.startswith(where):
        return f"{error.call} raised at line {line} of {file}{_quote(text, quoted)}."
    first = error.remote.frames[0]
    via = f" (from {first[0]} line {first[1]})" if len(error.remote.frames) > 1 else ""
    return f"{error.call} raised in {where}, {file} line {line}{via}{_quote(text, quoted)}."


def _quote(line: str, size: int) -> str:
    return f": `{clean(line, size)}`" if line else ""


def _explain(remote: RemoteException, known: Cause | None) -> str:
    """Return a sentence on the cause: the known mistake, or the shapes involved; empty if there is neither."""
    text = remote.text
    if found := re.search(r"mat1 and mat2 shapes cannot be multiplied \((\d+)x(\d+) and (\d+)x(\d+)\)", text):
        _, given, taken, _ = found.groups()
        return f"The input has {given} features; the weight expects {taken}.{_format_shapes(remote)}"
    if found := re.search(r"normalized_shape=\[(\d+)\].*size\[([\d, ]+)\]", text):
        return f"The norm expects {found[1]} features; its input has shape ({found[2]})."
    if known is None:
        return _format_shapes(remote).strip()
    near = f" Did you mean {remote.near}?" if remote.near else ""
    return f"{known.sentence}{near}"


def _format_shapes(remote: RemoteException) -> str:
    """Return a sentence with the shapes of the tensors named on the line that raised."""
    shown = [f"{clean(name, 24)} is {shape}" for name, shape in remote.shapes[:MAX_SHAPES]]
    return f" Here {', '.join(shown[:-1])}{' and ' if shown[1:] else ''}{shown[-1]}." if shown else ""
