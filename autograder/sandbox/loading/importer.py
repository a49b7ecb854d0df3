"""Import student files from memory, so that no folder of a submission is ever on the path.

A file is executed statement by statement. A statement that raises, or a definition that does not parse, is recorded
with its error, and the others still run. A notebook replaces the main module; only its needed statements
are executed (notebook_slice.py).
"""

from __future__ import annotations

import ast
import importlib.abc
import importlib.machinery
import importlib.util
import json
import linecache
import sys
import types
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from autograder.core.assignment import NOTEBOOK
from autograder.sandbox.loading import notebook_slice, parse

Step = tuple[tuple[str, ...], str, ast.stmt | SyntaxError]  # the names it binds, its file or cell, the statement


@dataclass(frozen=True)
class FailedStatement:
    """A statement that raised, and the names that it should have bound."""

    names: tuple[str, ...]
    error: BaseException


class Finder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """An importer for the submission's own files. ``main`` is the module that a notebook replaces.

    ``wanted`` are the names needed from a notebook.
    """

    def __init__(self, files: dict[str, bytes], main: str, wanted: Iterable[str] = ()) -> None:
        self.files, self.main = files, main
        self.wanted = tuple(wanted)
        self.failed_statements: dict[str, list[FailedStatement]] = {}
        self.sources: set[str] = set()  # file names of the student's own code in tracebacks
        self._cache: dict[str, list[Step]] = {}
        self.skipped: list[tuple[str, int, str]] = []  # lines of a notebook that were not executed

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: types.ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        # A file named like a standard module is ignored: libraries loaded later must find the real one.
        is_own = self._get_file(fullname) in self.files and fullname not in sys.stdlib_module_names
        if path is None and is_own:
            return importlib.util.spec_from_loader(fullname, self, origin=self._get_file(fullname))
        return None

    def exec_module(self, module: types.ModuleType) -> None:
        name = module.__file__ = self._get_file(module.__name__)
        troubles = self.failed_statements.setdefault(module.__name__, [])
        flags = 0
        steps = self._get_steps(name)
        for number, (names, file, node) in enumerate(steps):
            try:
                if isinstance(node, SyntaxError):
                    raise node
                flags |= parse.get_compiler_flags(node)
                exec(compile(ast.Module([node], []), file, "exec", flags, dont_inherit=True), module.__dict__)
            except BaseException as error:  # also SystemExit: the statements after it still run
                if name == NOTEBOOK and isinstance(error, NameError):
                    _name_later_cell(error, steps[number + 1 :])
                troubles.append(FailedStatement(names, error))
                for bound in names:  # an earlier definition of that name no longer counts
                    module.__dict__.pop(bound, None)
        if name == NOTEBOOK:  # an error in a cell does not count if a later cell fixed it
            troubles[:] = [t for t in troubles if not t.names or not all(n in module.__dict__ for n in t.names)]

    def find_definitions(self, module: str) -> dict[str, tuple[str, int, list[str]]]:
        """Return the file or cell, the line to look at, and the stubs of each top-level class and function."""
        found = {}
        for _, file, node in self._get_steps(self._get_file(module)):
            if isinstance(node, (ast.ClassDef, ast.FunctionDef)):
                stubs = _find_stubs(node)
                found[node.name] = (file, min(stubs.values(), default=node.lineno), list(stubs))
        return found

    def _get_file(self, module: str) -> str:
        """Return the file of a module."""
        file = f"{module}.py"
        return NOTEBOOK if module == self.main and file not in self.files else file

    def _get_steps(self, file: str) -> list[Step]:
        """Return the statements of a file to execute; cached, since describing the file needs them again."""
        if file not in self._cache:
            self._cache[file] = list(self._parse_notebook() if file == NOTEBOOK else self._parse_file(file))
        return self._cache[file]

    def _parse_file(self, name: str) -> Iterator[Step]:
        source = self.files[name]
        self._register_source(name, parse.decode(source))
        for names, body in parse.parse_statements(source):
            if isinstance(body, SyntaxError):
                body.filename = name
                yield names, name, body
            else:
                for node in body:
                    yield _find_bound_names(node), name, node

    def _parse_notebook(self) -> Iterator[Step]:
        texts = [str(cell["source"]) for cell in json.loads(self.files[NOTEBOOK])["cells"]]
        for number, text in enumerate(texts, 1):
            self._register_source(notebook_slice.format_cell_name(number), text)
        found, commands = notebook_slice.parse_statements(texts)
        kept = set(notebook_slice.select_needed(found, self.wanted))
        for cell, line in sorted({*commands, *notebook_slice.find_skipped(found, kept)}):
            self.skipped.append(
                (notebook_slice.format_cell_name(cell), line, texts[cell - 1].split("\n")[line - 1].strip())
            )
        for statement in found:
            name = notebook_slice.format_cell_name(statement.cell)
            if isinstance(statement.node, SyntaxError):
                yield tuple(statement.binds), name, statement.node
            elif statement in kept:
                yield _find_bound_names(statement.node), name, statement.node

    def _register_source(self, name: str, text: str) -> None:
        self.sources.add(name)
        linecache.cache[name] = (len(text), None, parse.split_lines(text), name)


def _name_later_cell(error: NameError, later: Sequence[Step]) -> None:
    """Say in which cell a name is defined, if that is a later one."""
    cell = next(
        (file for names, file, node in later if error.name in names and not isinstance(node, SyntaxError)), None
    )
    if cell:
        error.args = (f"name {error.name!r} is used before {cell} defines it; move that cell up",)


def _find_stubs(node: ast.ClassDef | ast.FunctionDef) -> dict[str, int]:
    """Return the functions of a definition that still contain ``raise NotImplementedError``, with its line."""
    body = node.body if isinstance(node, ast.ClassDef) else [node]
    functions = [statement for statement in body if isinstance(statement, ast.FunctionDef)]
    return {
        function.name: statement.lineno
        for function in functions
        for statement in function.body
        if isinstance(statement, ast.Raise) and "NotImplementedError" in ast.dump(statement)
    }


def _find_bound_names(node: ast.stmt) -> tuple[str, ...]:
    if isinstance(node, (ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)):
        return (node.name,)
    if isinstance(node, (ast.Import, ast.ImportFrom)):
        return tuple((alias.asname or alias.name).split(".")[0] for alias in node.names)
    if isinstance(node, ast.Assign):
        return tuple(target.id for target in node.targets if isinstance(target, ast.Name))
    return ()
