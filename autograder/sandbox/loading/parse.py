"""Parse as much of a Python source as possible: all of it, or else piece by piece."""

from __future__ import annotations
import __future__

import ast
import functools
import importlib.util
import re
import textwrap
from collections.abc import Iterator
from typing import NamedTuple

DEFINITION = re.compile(r"^(?:class|def|async def)\s+(\w+)", re.MULTILINE)
ASSIGNMENT = re.compile(r"^(\w+)\s*=(?!=)", re.MULTILINE)
# The same after marks that FOREIGN lists.
MARKED_DEFINITION = re.compile(
    r"^\s*(?:\d+\W{0,3}|[>.+]+ ?|In \[\d*\]: )?(?:class|def|async def)\s+(\w+)", re.MULTILINE
)
# Rows from outside Python that are often left in a file.
FOREIGN = (
    (re.compile(r"(<{7}|={7}|>{7}|\|{7})(\s|$)"), "a merge conflict marker is not Python"),
    (re.compile(r"\s*\d+([:.|)\]\s]|$)"), "a line number at the start of a line is not Python"),
    (re.compile(r">>>|\.\.\.(\s|$)|In \[\d*\]:"), "the prompt of a Python shell is not Python"),
    (re.compile(r"```|~~~"), "a Markdown fence is not Python"),
    (re.compile(r"\+\s*(class|def|import|from|@|#)|@@ |diff --git "), "a mark of a diff is not Python"),
)
MISPLACED = "this line is at the left margin, in the middle of a definition"
BLOCK = re.compile(r"(class|def(?!\s+\w+\(\s*self\b)|async|if|for|while|with|try|match|@)\b")
CONTINUATION = re.compile(r"[#)\]}]|(else|elif|except|finally)\b")
SCOPES = (ast.Lambda, ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
MAX_MERGED = 40  # pieces tried together if a file does not parse, for strings and brackets over many lines


class Piece(NamedTuple):
    """Rows of a text that does not parse, from ``start`` up to ``end``, and their statements or their error."""

    start: int
    end: int
    body: list[ast.stmt] | SyntaxError


def parse_statements(source: bytes | str) -> Iterator[tuple[tuple[str, ...], list[ast.stmt] | SyntaxError]]:
    """Yield the top-level statements; if the source does not parse, parse it piece by piece and yield each error.

    Each comes with the names that its text appears to define.
    """
    body = parse_body(source)
    if not isinstance(body, SyntaxError):
        yield (), body
        return
    rows = split_lines(decode(source))
    for start, end, body in _split_pieces(rows):
        text = textwrap.dedent("".join(rows[start:end]))
        pattern = MARKED_DEFINITION if _find_foreign(text) else DEFINITION
        yield (*pattern.findall(text), *ASSIGNMENT.findall(text)), body


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


def find_bound_names(node: ast.AST) -> Iterator[str]:
    """Yield the names that a statement binds, also in its loops, branches and ``with`` blocks."""
    if isinstance(node, (ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)):
        yield node.name
    elif isinstance(node, (ast.Import, ast.ImportFrom)):
        yield from ((alias.asname or alias.name).split(".")[0] for alias in node.names)
    elif isinstance(node, ast.Name):
        if isinstance(node.ctx, ast.Store):
            yield node.id
    elif not isinstance(node, SCOPES):
        for child in ast.iter_child_nodes(node):
            yield from find_bound_names(child)


# --- text that does not parse -----------------------------------------------------------------------------------------


def _split_pieces(rows: list[str]) -> Iterator[Piece]:
    """Split a text that does not parse into pieces that begin at the left margin, keeping line numbers.

    A definition that misplaced rows cut in two is one piece with their error: half of it must not be graded.
    """
    pieces = list(_join_pieces(rows))
    at = 0
    while at < len(pieces):
        start, end, body = pieces[at]
        last = at
        if DEFINITION.search("".join(rows[start:end])) and (last := _find_cut(rows, pieces, at)) > at:
            body = _make_error(rows, pieces[at + 1].start, MISPLACED)
        elif isinstance(body, SyntaxError) and (reason := _find_foreign(rows[start])):
            while last + 1 < len(pieces) and _find_foreign(rows[pieces[last + 1].start]) == reason:
                last += 1
            body = _make_error(rows, start, reason)
        yield Piece(start, pieces[last].end, body)
        at = last + 1


def _join_pieces(rows: list[str]) -> Iterator[Piece]:
    """Yield the pieces that begin at the left margin. Those that only parse together are joined."""
    starts: list[int] = []
    decorated = False  # whether the last row at the margin is a decorator, which belongs to what follows
    for i, row in enumerate(rows):
        at_margin = row[:1].strip() and not CONTINUATION.match(row)
        if (at_margin and not decorated) or (not starts and row.strip() and row.strip()[0] != "#"):
            starts.append(i)
        decorated = row[0] == "@" if at_margin else decorated
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
        yield Piece(starts[at], ends[last], body)
        at = last + 1


def _find_cut(rows: list[str], pieces: list[Piece], at: int) -> int:
    """Return the last piece that belongs to the definition ``at``: after misplaced rows come more of its own."""
    last = at
    for number in range(at + 1, len(pieces)):
        start, end, body = pieces[number]
        if not isinstance(body, SyntaxError) or _opens_block(rows[start]):
            break
        if any(row[:1].isspace() and row.strip() for row in rows[start + 1 : end]):
            last = number
    return last


def _opens_block(row: str) -> bool:
    """Return whether the rows after this one may be indented."""
    return bool(
        BLOCK.match(row)
        or row.rstrip().endswith("\\")
        or '"""' in row
        or "'''" in row
        or sum(map(row.count, "([{")) > sum(map(row.count, ")]}"))
    )


def _find_foreign(row: str) -> str:
    """Return why a row was never Python, if it has the mark of another tool; else ""."""
    return next((reason for pattern, reason in FOREIGN if pattern.match(row)), "")


def _make_error(rows: list[str], row: int, reason: str) -> SyntaxError:
    return SyntaxError(_find_foreign(rows[row]) or reason, ("", row + 1, 1, rows[row]))
