"""Student files as modules, from memory: no folder of a submission is ever on the path.

A file is executed statement by statement. One that raises, or a definition that does not parse, is set aside with its
reason, and the others are there all the same.
"""

from __future__ import annotations
import __future__

import ast
import functools
import importlib.abc
import importlib.machinery
import importlib.util
import linecache
import re
import sys
import types
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

DEFINES = re.compile(r"^(?:class|def|async def)\s+(\w+)", re.MULTILINE)
MERGED = 40  # pieces of a file that does not parse that are tried together, for texts and brackets over many lines


@dataclass(frozen=True)
class Trouble:
    """A statement that did not go through, and the names that it should have bound."""

    names: tuple[str, ...]
    error: BaseException


class Finder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Imports of the submission's own files."""

    def __init__(self, files: dict[str, bytes]) -> None:
        self.files = files
        self.troubles: dict[str, list[Trouble]] = {}

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: types.ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        # A file named like a module of Python is none: libraries that are loaded later must find their own.
        own = f"{fullname}.py" in self.files and fullname not in sys.stdlib_module_names
        if path is None and own:
            return importlib.util.spec_from_loader(fullname, self, origin=f"{fullname}.py")
        return None

    def exec_module(self, module: types.ModuleType) -> None:
        name = f"{module.__name__}.py"
        module.__file__ = name
        troubles = self.troubles.setdefault(module.__name__, [])
        source = self.files[name]
        linecache.cache[name] = (len(source), None, _lines(_text(source)), name)
        for names, code in _statements(source, name):
            try:
                if isinstance(code, SyntaxError):
                    raise code
                exec(code, module.__dict__)
            except BaseException as error:  # also SystemExit: what comes after it is looked at too
                troubles.append(Trouble(names, error))
                for bound in names:  # an earlier definition of that name is not what the student means
                    module.__dict__.pop(bound, None)


def definitions(source: bytes) -> dict[str, tuple[int, list[str]]]:
    """For each top-level class and function the line to look at, and which of its functions are still stubs."""
    found = {}
    for tree in [whole] if (whole := _tree(source)) else map(_tree, _pieces(source)):
        for node in tree.body if tree else ():
            if isinstance(node, (ast.ClassDef, ast.FunctionDef)):
                stubs = _stubs(node)
                found[node.name] = (min(stubs.values(), default=node.lineno), list(stubs))
    return found


@functools.lru_cache(8)
def _tree(source: bytes | str) -> ast.Module | None:
    """The syntax tree, or None where there is none; kept, since both executing and describing a file take it."""
    try:
        return ast.parse(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None


def _stubs(node: ast.ClassDef | ast.FunctionDef) -> dict[str, int]:
    """The functions of a definition whose body still says ``raise NotImplementedError``, and on which line."""
    body = node.body if isinstance(node, ast.ClassDef) else [node]
    functions = [statement for statement in body if isinstance(statement, ast.FunctionDef)]
    return {
        function.name: statement.lineno
        for function in functions
        for statement in function.body
        if isinstance(statement, ast.Raise) and "NotImplementedError" in ast.dump(statement)
    }


def _text(source: bytes) -> str:
    try:
        return importlib.util.decode_source(source)
    except (SyntaxError, UnicodeDecodeError):
        return source.decode("utf-8", "replace")


def _lines(text: str) -> list[str]:
    """Lines as Python counts them: str.splitlines would also break at form feeds and the like."""
    return [f"{line}\n" for line in text.split("\n")]


def _statements(source: bytes, name: str) -> Iterator[tuple[tuple[str, ...], types.CodeType | SyntaxError]]:
    """The top-level statements, compiled, each with the names that it binds."""
    tree = _tree(source)
    if tree is None:
        for piece in _pieces(source):
            names = tuple(DEFINES.findall(piece))
            try:
                yield names, compile(piece, name, "exec", dont_inherit=True)
            except SyntaxError as error:
                yield names, error
        return
    flags = 0
    for node in tree.body:
        if isinstance(node, ast.ImportFrom) and node.module == "__future__":
            for alias in node.names:
                flags |= getattr(__future__, alias.name).compiler_flag
        code = compile(ast.Module([node], []), name, "exec", flags=flags, dont_inherit=True)
        yield _bound(node), code


def _bound(node: ast.stmt) -> tuple[str, ...]:
    if isinstance(node, (ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)):
        return (node.name,)
    if isinstance(node, (ast.Import, ast.ImportFrom)):
        return tuple((alias.asname or alias.name).split(".")[0] for alias in node.names)
    if isinstance(node, ast.Assign):
        return tuple(target.id for target in node.targets if isinstance(target, ast.Name))
    return ()


def _pieces(source: bytes) -> Iterator[str]:
    """A source that does not parse, in pieces that begin at the left margin, each on its own lines.

    Pieces that only parse together (decorators, texts, brackets) are put together; what never does stands alone.
    """
    lines = _lines(_text(source))
    starts = [i for i, line in enumerate(lines) if line[:1].strip() and line[0] not in "#)]}"]
    ends = [*starts[1:], len(lines)]
    at = 0
    while at < len(starts):
        for last in range(at, min(at + MERGED, len(starts))):
            piece = "\n" * starts[at] + "".join(lines[starts[at] : ends[last]])
            try:
                ast.parse(piece)
            except SyntaxError:
                continue
            break
        else:
            last = at
            piece = "\n" * starts[at] + "".join(lines[starts[at] : ends[at]])
        yield piece
        at = last + 1
