"""Student files as modules, from memory: no folder of a submission is ever on the path.

A file is executed statement by statement. One that raises, or a definition that does not parse, is set aside with its
reason, and the others are there all the same. A notebook takes the place of gpt.py, with those of its statements that
count (cells.py).
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

from autograder.sandbox import MAIN, NOTEBOOK, cells, pieces

Step = tuple[tuple[str, ...], str, ast.stmt | SyntaxError]  # the names it binds, its place, the statement


@dataclass(frozen=True)
class Trouble:
    """A statement that did not go through, and the names that it should have bound."""

    names: tuple[str, ...]
    error: BaseException


class Finder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Imports of the submission's own files. ``wanted`` are the names that are looked for in a notebook."""

    def __init__(self, files: dict[str, bytes], wanted: Iterable[str] = ()) -> None:
        self.files = files
        self.wanted = tuple(wanted)
        self.troubles: dict[str, list[Trouble]] = {}
        self.places: set[str] = set()  # what tracebacks call the student's own code
        self._kept: dict[str, list[Step]] = {}
        self.left_out: list[tuple[str, int, str]] = []  # lines of a notebook that were not executed

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: types.ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        # A file named like a module of Python is none: libraries that are loaded later must find their own.
        own = self._file(fullname) in self.files and fullname not in sys.stdlib_module_names
        if path is None and own:
            return importlib.util.spec_from_loader(fullname, self, origin=self._file(fullname))
        return None

    def exec_module(self, module: types.ModuleType) -> None:
        name = module.__file__ = self._file(module.__name__)
        troubles = self.troubles.setdefault(module.__name__, [])
        flags = 0
        for names, place, node in self._steps(name):
            try:
                if isinstance(node, SyntaxError):
                    raise node
                flags |= pieces.flags(node)
                exec(compile(ast.Module([node], []), place, "exec", flags, dont_inherit=True), module.__dict__)
            except BaseException as error:  # also SystemExit: what comes after it is looked at too
                troubles.append(Trouble(names, error))
                for bound in names:  # an earlier definition of that name is not what the student means
                    module.__dict__.pop(bound, None)
        if name == NOTEBOOK:  # where cells are run again and again, what was mended later is no trouble
            troubles[:] = [t for t in troubles if not t.names or not all(n in module.__dict__ for n in t.names)]

    def definitions(self, module: str) -> dict[str, tuple[str, int, list[str]]]:
        """For each top-level class and function its place, the line to look at, and its functions that are stubs."""
        found = {}
        for _, place, node in self._steps(self._file(module)):
            if isinstance(node, (ast.ClassDef, ast.FunctionDef)):
                stubs = _stubs(node)
                found[node.name] = (place, min(stubs.values(), default=node.lineno), list(stubs))
        return found

    def _file(self, module: str) -> str:
        """The file that a module is in."""
        file = f"{module}.py"
        return NOTEBOOK if module == MAIN and file not in self.files else file

    def _steps(self, file: str) -> list[Step]:
        """What is executed of a file; kept, since both executing and describing it take it."""
        if file not in self._kept:
            self._kept[file] = list(self._of_notebook() if file == NOTEBOOK else self._of_file(file))
        return self._kept[file]

    def _of_file(self, name: str) -> Iterator[Step]:
        source = self.files[name]
        self._placed(name, pieces.text(source))
        for names, body in pieces.parsed(source):
            if isinstance(body, SyntaxError):
                body.filename = name
                yield names, name, body
            else:
                for node in body:
                    yield _bound(node), name, node

    def _of_notebook(self) -> Iterator[Step]:
        texts = [str(cell["source"]) for cell in json.loads(self.files[NOTEBOOK])["cells"]]
        for number, text in enumerate(texts, 1):
            self._placed(cells.place(number), text)
        found, commands = cells.statements(texts)
        kept = set(cells.needed(found, self.wanted))
        for cell, line in sorted({*commands, *cells.left_out(found, kept)}):
            self.left_out.append((cells.place(cell), line, texts[cell - 1].split("\n")[line - 1].strip()))
        for statement in found:
            place = cells.place(statement.cell)
            if isinstance(statement.node, SyntaxError):
                yield tuple(statement.binds), place, statement.node
            elif statement in kept:
                yield _bound(statement.node), place, statement.node

    def _placed(self, place: str, text: str) -> None:
        self.places.add(place)
        linecache.cache[place] = (len(text), None, pieces.lines(text), place)


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


def _bound(node: ast.stmt) -> tuple[str, ...]:
    if isinstance(node, (ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)):
        return (node.name,)
    if isinstance(node, (ast.Import, ast.ImportFrom)):
        return tuple((alias.asname or alias.name).split(".")[0] for alias in node.names)
    if isinstance(node, ast.Assign):
        return tuple(target.id for target in node.targets if isinstance(target, ast.Name))
    return ()
