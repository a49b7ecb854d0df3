"""Python source as syntax trees, as far as it parses: whole, or in pieces of which some do."""

from __future__ import annotations
import __future__

import ast
import functools
import importlib.util
import re
from collections.abc import Iterator

DEFINES = re.compile(r"^(?:class|def|async def)\s+(\w+)", re.MULTILINE)
MERGED = 40  # pieces of a file that does not parse that are tried together, for texts and brackets over many lines


def parsed(source: bytes | str) -> Iterator[tuple[tuple[str, ...], list[ast.stmt] | SyntaxError]]:
    """The top-level statements; where the source does not parse, piece by piece, with the error of those that do not.

    With each comes what it defines by the look of its text.
    """
    body = body_of(source)
    if not isinstance(body, SyntaxError):
        yield (), body
        return
    for piece, body in _pieces(text(source)):
        yield tuple(DEFINES.findall(piece)), body


def text(source: bytes | str) -> str:
    """Source as text; bytes in the encoding that they declare."""
    if isinstance(source, str):
        return source
    try:
        return importlib.util.decode_source(source)
    except (SyntaxError, UnicodeDecodeError):
        return source.decode("utf-8", "replace")


def lines(text: str) -> list[str]:
    """Lines as Python counts them: str.splitlines would also break at form feeds and the like."""
    return [f"{line}\n" for line in text.split("\n")]


def flags(node: ast.stmt) -> int:
    """What the statement asks of the compiler for all that follows it."""
    if not (isinstance(node, ast.ImportFrom) and node.module == "__future__"):
        return 0
    found = 0
    for alias in node.names:
        found |= getattr(getattr(__future__, alias.name, None), "compiler_flag", 0)
    return found


@functools.lru_cache(1)  # who looks whether something parses wants it next
def body_of(source: bytes | str) -> list[ast.stmt] | SyntaxError:
    """The statements of a source, or why there are none."""
    try:
        return ast.parse(source).body
    except SyntaxError as error:
        return error
    except (ValueError, RecursionError, MemoryError) as error:
        return SyntaxError(str(error) or type(error).__name__)


def _pieces(text: str) -> Iterator[tuple[str, list[ast.stmt] | SyntaxError]]:
    """A text that does not parse, in pieces that begin at the left margin, each on its own lines.

    Pieces that only parse together (decorators, texts, brackets) are put together; what never does stands alone.
    """
    rows = lines(text)
    starts = [i for i, row in enumerate(rows) if row[:1].strip() and row[0] not in "#)]}"]
    ends = [*starts[1:], len(rows)]
    at = 0
    while at < len(starts):
        last, body = at, body_of("\n" * starts[at] + "".join(rows[starts[at] : ends[at]]))
        for end in range(at + 1, min(at + MERGED, len(starts))):
            if not isinstance(body, SyntaxError):
                break
            together = body_of("\n" * starts[at] + "".join(rows[starts[at] : ends[end]]))
            if not isinstance(together, SyntaxError):
                last, body = end, together
        yield "".join(rows[starts[at] : ends[last]]), body
        at = last + 1
