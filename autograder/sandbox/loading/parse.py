"""Parse Python source as far as possible: as a whole, else piece by piece."""

from __future__ import annotations
import __future__

import ast
import functools
import importlib.util
import re
import textwrap
from collections.abc import Iterator

DEFINITION = re.compile(r"^(?:class|def|async def)\s+(\w+)", re.MULTILINE)
MAX_MERGED = 40  # pieces tried together if a file does not parse, for strings and brackets over many lines


def parse_statements(source: bytes | str) -> Iterator[tuple[tuple[str, ...], list[ast.stmt] | SyntaxError]]:
    """Yield the top-level statements; if the source does not parse, piece by piece, with the error of each bad one.

    Each comes with the names that its text appears to define.
    """
    body = parse_body(source)
    if not isinstance(body, SyntaxError):
        yield (), body
        return
    for piece, body in _split_pieces(decode(source)):
        yield tuple(DEFINITION.findall(textwrap.dedent(piece))), body


def decode(source: bytes | str) -> str:
    """Return source as text, decoding bytes by their declared encoding."""
    if isinstance(source, str):
        return source
    try:
        return importlib.util.decode_source(source)
    except (SyntaxError, UnicodeDecodeError):
        return source.decode("utf-8", "replace")


def split_lines(text: str) -> list[str]:
    """Split into lines as Python counts them: str.splitlines would also split at form feeds."""
    return [f"{line}\n" for line in text.split("\n")]


def get_compiler_flags(node: ast.stmt) -> int:
    """Return the compiler flags that a statement sets for the code after it."""
    if not (isinstance(node, ast.ImportFrom) and node.module == "__future__"):
        return 0
    found = 0
    for alias in node.names:
        found |= getattr(getattr(__future__, alias.name, None), "compiler_flag", 0)
    return found


@functools.lru_cache(1)  # callers that test whether a source parses use the result next
def parse_body(source: bytes | str) -> list[ast.stmt] | SyntaxError:
    """Return the statements of a source, or its syntax error."""
    try:
        return ast.parse(source).body
    except SyntaxError as error:
        return error
    except (ValueError, RecursionError, MemoryError) as error:
        return SyntaxError(str(error) or type(error).__name__)


def _split_pieces(text: str) -> Iterator[tuple[str, list[ast.stmt] | SyntaxError]]:
    """Split a text that does not parse into pieces that begin at the left margin, keeping line numbers.

    Pieces that only parse together (decorators, strings, brackets) are joined; a piece that never parses stays alone.
    """
    rows = split_lines(text)
    starts = [i for i, row in enumerate(rows) if row[:1].strip() and row[0] not in "#)]}"]
    indented = next((i for i, row in enumerate(rows) if row.strip() and row.lstrip()[0] != "#"), len(rows))
    if indented < min(starts, default=len(rows)):
        starts.insert(0, indented)
    ends = [*starts[1:], len(rows)]
    at = 0
    while at < len(starts):
        last, body = at, parse_body("\n" * starts[at] + "".join(rows[starts[at] : ends[at]]))
        for end in range(at + 1, min(at + MAX_MERGED, len(starts))):
            if not isinstance(body, SyntaxError):
                break
            together = parse_body("\n" * starts[at] + "".join(rows[starts[at] : ends[end]]))
            if not isinstance(together, SyntaxError):
                last, body = end, together
        yield "".join(rows[starts[at] : ends[last]]), body
        at = last + 1
