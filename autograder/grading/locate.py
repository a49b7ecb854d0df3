"""Find the lines that a report points to, in the text of the submission itself.

The student's process only claims numbers of lines and columns; every line shown comes from the submitted files.
"""

from __future__ import annotations

import bisect
import contextlib
import difflib
import functools
import io
import itertools
import json
import re
import tokenize
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass

from autograder.core.assignment import NOTEBOOK
from autograder.core.text import clean
from autograder.grading.report import Location
from autograder.sandbox.remote.client import Frame, RemoteException
from autograder.submission.content import decode

AROUND = 3  # lines shown before and after one that raised
MAX_LINE = 400  # characters of a line
MAX_BODY = 12  # lines shown of a definition
STUB = "NotImplementedError"
HEADER = re.compile(r"(\s*)(?:class|def|async\s+def)\s+(\w+)")
# An exception for a call whose arguments don't match names the function called.
CALLED = re.compile(r"([A-Za-z_][\w.]*)\(\) (?:takes|missing|got)\b")


@dataclass(frozen=True, slots=True)
class _Definition:
    """A class or function: its name, such as Block.forward, and the numbers of its first and last line."""

    name: str
    file: str
    first: int
    last: int


class Locator:
    """Locate code in ``files``; lines of the ``given`` files, which students do not write, are never pointed to.

    ``names`` are the definitions of the contract: code that one of them lacks may be in a class of another name.
    """

    def __init__(self, files: Mapping[str, bytes], given: Collection[str], names: Collection[str]) -> None:
        self._names = names
        self._texts = {name: _normalise(data) for name, data in files.items() if name not in given}
        if NOTEBOOK in self._texts:
            cells = json.loads(self._texts.pop(NOTEBOOK))["cells"]
            self._texts |= {f"cell {n}": str(cell["source"]) for n, cell in enumerate(cells, 1)}

    # --- locations --------------------------------------------------------------------------------------------------

    def locate_exception(self, call: str, remote: RemoteException) -> Location | None:
        """Return the student's innermost line in a traceback; without one, the definition that ``call`` calls."""
        called = CALLED.match(remote.text)
        if called and not ((found := self._find(called[1])) and self._takes_self(found)):
            owner, _, method = called[1].rpartition(".")
            found = found or (self._find_similar(owner, method) if self._find(owner) else None)
            if found:
                return self._show(found, remote.type)
        own = [frame for frame in remote.frames if frame.file in self._texts]
        return self._mark(own[-1], remote.type) if own else self.locate_call(call, remote.type)

    def locate_call(self, call: str, raised: str = "") -> Location | None:
        """Return the definition that ``call`` calls, as messages write it: ``Block.forward(...)`` or ``Block(...)``."""
        if call in self._texts:
            return self._locate_loop(call)
        name = re.match(r"[A-Za-z_][\w.]*", call)
        if name is None:
            return None
        owner, _, method = (name[0] if "." in name[0] else f"{name[0]}.__init__").partition(".")
        found = self._find(f"{owner}.{method}") or self._find_similar(owner, method) or self._find(owner)
        return self._show(found, raised) if found else None

    def _locate_loop(self, file: str) -> Location:
        """Return the one loop of a file outside of all definitions; the file alone if there are none or several."""
        loops = [n for n, line in enumerate(self._code(file), 1) if re.match(r"(for|while)\b", line)]
        return self.locate_line(file, loops[0] if len(loops) == 1 else 0, "")

    def locate_definition(self, name: str, pattern: str = "") -> Location | None:
        """Return a class, method or function: its one line that has ``pattern``, else its first line.

        A method that is missing is looked for as a function of the file, then as its class.
        """
        owner, _, method = name.rpartition(".")
        found = self._find(name) or (self._find(method) if owner else None) or self._find(owner)
        if found is None:
            return None
        inside = self._search(found, pattern) if pattern else []
        if pattern and not inside:
            own = {found.name.partition(".")[0]}
            others = [one for one in self._innermost if one.name.partition(".")[0] in own or not self._is_asked(one)]
            elsewhere = [(other, lines) for other in others if (lines := self._search(other, pattern))]
            if len(elsewhere) == 1:
                found, inside = elsewhere[0]
        return self._show(found, line=inside[0] if len(inside) == 1 else 0)

    def locate_line(self, file: str, line: int, where: str) -> Location:
        """Return a line that the student's process named, with its text if there is such a line."""
        return self._mark(Frame(file, line, where, ""), "")

    def find_unreached_stubs(self) -> Iterator[Location]:
        """Yield each ``raise NotImplementedError`` that directly follows a return, and so is never reached."""
        for file, text in self._texts.items():
            lines = [(n, line) for n, line in enumerate(self._code(file), 1) if line.strip()] if STUB in text else []
            for (_, before), (number, line) in itertools.pairwise(lines):
                indent = line.partition(f"raise {STUB}")[0]
                if not indent.strip() and before.startswith(f"{indent}return"):
                    yield self.locate_line(file, number, "")

    # --- text -------------------------------------------------------------------------------------------------------

    def _mark(self, frame: Frame, raised: str) -> Location:
        """Return the location of a frame, with the lines around it and the columns to mark."""
        lines = self._lines(frame.file)
        line = frame.line if 0 < frame.line <= len(lines) else 0
        first = max(1, line - AROUND)
        text = lines[line - 1] if line else ""
        start, end = frame.column, min(frame.end_column, len(text) + 1)
        is_part = 0 < start < end and text[start - 1 : end - 1].strip() != text.strip()
        return Location(
            file=self._name_file(frame.file, line),
            line=line,
            where="" if frame.where == "<module>" else clean(frame.where, 80),
            raised=clean(raised, 80),
            column=start if is_part else 0,
            end_column=end if is_part else 0,
            first=first if line else 0,
            source=_cut(lines[first - 1 : line + AROUND]) if line else (),
        )

    def _show(self, found: _Definition, raised: str = "", line: int = 0) -> Location:
        """Return the location of a definition, or of one ``line`` in it."""
        lines = self._lines(found.file)
        first, last = found.first, min(found.last, found.first + MAX_BODY - 1)
        if line:
            first, last = max(found.first, line - AROUND), min(found.last, line + AROUND)
        return Location(
            file=self._name_file(found.file, found.first),
            line=line or found.first,
            where=clean(found.name, 80),
            raised=clean(raised, 80),
            first=first,
            source=_cut(lines[first - 1 : last]),
        )

    def _name_file(self, file: str, line: int) -> str:
        """Return a file's name; of a notebook's cell, the definition that identifies it, since cells move."""
        if not file.startswith("cell "):
            return clean(file, 80)
        inside = [one for one in self._definitions if one.file == file and "." not in one.name]
        if not inside:
            return file
        at = bisect.bisect_right([one.first for one in inside], line)
        return f"the cell that defines {clean(inside[max(0, at - 1)].name, 60)}"

    def _lines(self, file: str) -> list[str]:
        return self._texts.get(file, "").split("\n")

    def _takes_self(self, found: _Definition) -> bool:
        """Return whether the definition's header names ``self``, or the function is outside of any class."""
        header = " ".join(self._lines(found.file)[found.first - 1 : found.first + 4])
        return "." not in found.name or bool(re.search(r"\(\s*(self|cls|\*\w+)\b", header.partition(":")[0]))

    # --- definitions ------------------------------------------------------------------------------------------------

    def _find(self, name: str) -> _Definition | None:
        """Return the last definition of that name."""
        return next((one for one in reversed(self._definitions) if one.name == name), None)

    @functools.cached_property
    def _definitions(self) -> list[_Definition]:
        return [one for file in self._texts for one in self._find_definitions(file)]

    @functools.cached_property
    def _innermost(self) -> list[_Definition]:
        """Return the definitions that contain no other, and of those with one name the last."""
        last = {one.name: one for one in self._definitions}.values()
        owners = {one.name.rpartition(".")[0] for one in last}
        return [one for one in last if one.name not in owners]

    def _find_similar(self, owner: str, method: str) -> _Definition | None:
        """Return a method of the class that is spelled like ``method``, or a function of that name outside of it."""
        inside = {one.name.rpartition(".")[2]: one for one in self._definitions if one.name.startswith(f"{owner}.")}
        near = difflib.get_close_matches(method, inside, 1)
        return inside[near[0]] if near else self._find(method)

    def _is_asked(self, found: _Definition) -> bool:
        """Return whether a definition is part of one that the contract asks for."""
        return found.name.partition(".")[0] in self._names

    def _find_definitions(self, file: str) -> Iterator[_Definition]:
        """Yield the definitions of a file, judged by their indentation."""
        code = self._code(file)
        open_: list[tuple[int, str, int]] = []  # indentation, name, first line
        end = 0
        for number, line in enumerate(code, 1):
            if not line.strip():
                continue
            indent = len(line) - len(line.lstrip())
            while open_ and indent <= open_[-1][0] and line.lstrip()[0] not in ")]}":
                _, name, first = open_.pop()
                yield _Definition(name, file, first, end)
            if header := HEADER.match(line):
                name = f"{open_[-1][1]}.{header[2]}" if open_ else header[2]
                open_.append((indent, name, number))
            end = number
        for _, name, first in reversed(open_):
            yield _Definition(name, file, first, end)

    def _search(self, found: _Definition, pattern: str) -> list[int]:
        """Return the numbers of the lines of a definition that have ``pattern`` in their code."""
        code = self._code(found.file)
        return [n for n in range(found.first + 1, found.last + 1) if re.search(pattern, code[n - 1])]

    @functools.cache  # noqa: B019 (a locator lives as long as the grading of one submission)
    def _code(self, file: str) -> list[str]:
        """Return the lines of a file with comments and long strings blanked, as far as it can be read."""
        lines = self._lines(file)
        with contextlib.suppress(tokenize.TokenError, SyntaxError):
            for token in tokenize.generate_tokens(io.StringIO(self._texts[file]).readline):
                (first, start), (last, end) = token.start, token.end
                if token.type == tokenize.COMMENT:
                    lines[first - 1] = lines[first - 1][:start]
                elif token.type == tokenize.STRING and last > first:
                    lines[first - 1] = f'{lines[first - 1][:start]}""'
                    lines[first:last] = [*[""] * (last - first - 1), " " * end + lines[last - 1][end:]]
        return lines


def _normalise(data: bytes) -> str:
    """Return the text of a file with the line ends that Python counts."""
    return decode(data).removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n")


def _cut(lines: list[str]) -> tuple[str, ...]:
    return tuple(clean(line, MAX_LINE) for line in lines)
