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
import itertools
import json
import linecache
import re
import sys
import types
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TypeGuard

from autograder.core.assignment import NOTEBOOK
from autograder.sandbox.loading import notebook_slice, parse

BLOCKS = (ast.For, ast.AsyncFor, ast.While, ast.If, ast.Try, ast.With, ast.AsyncWith, ast.Match, ast.AugAssign)
SHADOWED = "has the name of a module of Python itself"
# Python's messages for a name that another file should have defined.
MISSING_IN_FILE = (
    re.compile(r"cannot import name '(?P<name>\w+)' from '(?P<module>\w+)'"),
    re.compile(r"module '(?P<module>\w+)' has no attribute '(?P<name>\w+)'"),
)

Step = tuple[tuple[str, ...], str, ast.stmt | SyntaxError]  # the names it binds, its file or cell, the statement


@dataclass(frozen=True)
class FailedStatement:
    """A statement that failed, the names that it should have bound, and the first error that led to its failure."""

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
                troubles.append(FailedStatement(names, self._find_first_error(module.__name__, error)))
                for bound in names:  # an earlier definition of that name no longer counts
                    if not _keeps_value(node, module.__dict__.get(bound)):
                        module.__dict__.pop(bound, None)
        if name == NOTEBOOK:  # an error in a cell does not count if a later cell fixed it
            troubles[:] = [t for t in troubles if not t.names or not all(n in module.__dict__ for n in t.names)]

    def _find_first_error(self, module: str, error: BaseException) -> BaseException:
        """Return the error of the statement that should have bound the missing name; else ``error`` itself."""
        name = error.name if isinstance(error, NameError) else ""
        for pattern in MISSING_IN_FILE:
            if isinstance(error, (ImportError, AttributeError)) and (found := pattern.search(str(error))):
                module, name = found["module"], found["name"]
                if f"{module}.py" in self.files and module in sys.stdlib_module_names:
                    return ImportError(f"{module}.py {SHADOWED}").with_traceback(error.__traceback__)
        failed = self.failed_statements.get(module, ())
        return next((statement.error for statement in failed if name in statement.names), error)

    def find_definitions(self, module: str) -> dict[str, tuple[str, int, list[str]]]:
        """Return the file or cell, the line to look at, and the stubs of each top-level class and function."""
        found = {}
        for _, file, node in self._get_steps(self._get_file(module)):
            if isinstance(node, (ast.ClassDef, ast.FunctionDef)):
                stubs = _find_stubs(node)
                found[node.name] = (file, min(stubs.values(), default=node.lineno), list(stubs))
        return found

    def find_misplaced(self, cls: str, method: str) -> str:
        """Return where a method of the class ``cls`` is defined instead of in its body; "" if nowhere."""
        for steps in self._cache.values():
            nodes = [node for *_, node in steps]
            for number, node in enumerate(nodes):
                if not isinstance(node, ast.ClassDef) or node.name != cls:
                    continue
                after = itertools.takewhile(lambda other: not isinstance(other, ast.ClassDef), nodes[number + 1 :])
                for function in filter(_is_method, after):
                    if function.name == method:
                        return f"the {method} in line {function.lineno}, which is outside {cls}"
                for outer in filter(_is_method, node.body):
                    for function in filter(_is_method, ast.walk(outer)):
                        if function.name == method and function is not outer:
                            return f"the {method} in line {function.lineno}, which is inside {outer.name}"
        return ""

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
                    yield tuple(parse.find_bound_names(node)), name, node

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
                yield tuple(parse.find_bound_names(statement.node)), name, statement.node

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


def _keeps_value(node: ast.stmt | SyntaxError, value: object) -> bool:
    """Return whether a name keeps its earlier value although this statement, which may bind it, failed."""
    # An earlier class must not be graded instead of a broken one; a value may still be the right one.
    return not callable(value) if isinstance(node, SyntaxError) else isinstance(node, BLOCKS)


def _is_method(node: object) -> TypeGuard[ast.FunctionDef]:
    return isinstance(node, ast.FunctionDef) and [arg.arg for arg in node.args.args[:1]] == ["self"]


def _find_stubs(node: ast.ClassDef | ast.FunctionDef) -> dict[str, int]:
    """Return the functions of a definition that still end in ``raise NotImplementedError``, with its line."""
    body = node.body if isinstance(node, ast.ClassDef) else [node]
    functions = [statement for statement in body if isinstance(statement, ast.FunctionDef)]
    return {
        function.name: statement.lineno
        for function in functions
        for statement in itertools.takewhile(lambda one: not isinstance(one, ast.Return), function.body)
        if isinstance(statement, ast.Raise) and "NotImplementedError" in ast.dump(statement)
    }
