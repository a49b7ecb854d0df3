"""Select the statements of a notebook to execute: the assignment's definitions and everything that they use.

A notebook contains more than definitions: it installs, plots, trains and experiments. Starting with the requested
names, this module follows each name to the statements that bind it, and leaves out the rest. Of several definitions of
a name the last counts, plus an earlier one that it uses (``class Model(Model)``).

Only the standard library is used here: this runs beside student code, and in a student's own kernel.
"""

from __future__ import annotations

import ast
import dis
import inspect
import re
import types
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from autograder.sandbox.loading import parse

MAX_COMMANDS = 50  # the most lines of a cell to recognise as commands one by one
# Cell magics around ordinary code; %%writefile model.py can hold a class, too.
CODE_MAGIC = re.compile(r"%%(time|timeit|capture|prun|python3?|py|writefile\s+(-a\s+)?\S+\.py)\b")
COMMAND = re.compile(r"\s*(?P<sure>[%!]|\w[\w, ]*=\s*[%!])|\s*\?|.*\?\s*$")
CHECK_CALL = re.compile(r"(from|import)\s+autograder\b|check(\.\w+)?\(")  # the calls that ask for points
LOOKUP_OPCODES = {"LOAD_NAME", "LOAD_GLOBAL", "LOAD_FROM_DICT_OR_GLOBALS"}
DYNAMIC_LOOKUPS = frozenset(("globals", "eval", "exec", "vars"))  # code that uses these may refer to any definition
DEFINITION = (ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
IMPORT = (ast.Import, ast.ImportFrom)
LOOP = (ast.For, ast.AsyncFor, ast.While)


@dataclass(frozen=True, slots=True, eq=False)
class Statement:
    """A top-level statement of a cell (counted from 1) or its syntax error, and the names that it binds."""

    cell: int
    line: int
    binds: frozenset[str]
    node: ast.stmt | SyntaxError


@dataclass(frozen=True, slots=True)
class _Names:
    """The names bound at the top level; statements that bind only harmless names may run even if not needed."""

    harmless: set[str]
    others: set[str]


def format_cell_name(cell: int) -> str:
    """Return a cell's name in tracebacks and messages."""
    return f"cell {cell}"


def parse_statements(cells: Iterable[str]) -> tuple[list[Statement], list[tuple[int, int]]]:
    """Return all statements in order, and (cell, line) of each notebook command."""
    found, commands = list[Statement](), list[tuple[int, int]]()
    for cell, text in enumerate(cells, 1):
        code, removed = remove_commands(_dedent(text))
        commands += [(cell, line) for line in removed]
        if found and (line := _find_continuation(found[-1], text)):
            message = f"class {next(iter(found[-1].binds))} ends with cell {found[-1].cell}; put all of it in one cell"
            error = SyntaxError(message, (format_cell_name(cell), line, None, None))
            found[-1] = replace(found[-1], node=error)
        for names, body in parse.parse_statements(code):
            if isinstance(body, SyntaxError):
                body.filename = format_cell_name(cell)
                found.append(Statement(cell, body.lineno or 1, frozenset(names), body))
            else:
                found += [Statement(cell, node.lineno, _find_bindings(node), node) for node in body]
    return found, commands


def _dedent(text: str) -> str:
    """Remove the indentation that all lines of a cell have, as IPython does."""
    indent = re.match(r"\s*?([ \t]*)(?=\S)", text)
    lines = text.split("\n")
    if not indent or not all(line.startswith(indent[1]) or not line.strip() for line in lines):
        return text
    return "\n".join(line.removeprefix(indent[1]) for line in lines)


def _find_continuation(last: Statement, text: str) -> int:
    """Return the line of a cell that goes on with the class of the cell before, at its ``forward``, or 0."""
    method = re.match(r"(?:\s*\n)?[ \t]+(?=\S)", text) and re.search(r"^[ \t]+def[ \t]+forward\b", text, re.MULTILINE)
    is_open = isinstance(last.node, ast.ClassDef) and all(getattr(s, "name", "") != "forward" for s in last.node.body)
    return text.count("\n", 0, method.start()) + 1 if is_open and method else 0


def remove_commands(text: str) -> tuple[str, list[int]]:
    """Return the Python code of a cell with unchanged line numbers, and the lines of its notebook commands."""
    lines, commands = text.split("\n"), list[int]()
    if text.startswith("%%"):
        if not CODE_MAGIC.match(text):
            return "", [1]
        lines[0], commands = "", [1]
    # A % in an expression or string parses; one that starts a command is a syntax error at that line.
    for _ in range(MAX_COMMANDS):
        body = parse.parse_body("\n".join(lines))
        if not isinstance(body, SyntaxError):
            return "\n".join(lines), commands
        number = body.lineno or 0
        if not 0 < number <= len(lines) or not COMMAND.match(lines[number - 1]):
            break
        commands.append(_replace_command(lines, number))
    for number, line in enumerate(lines, 1):  # something else is wrong as well
        if (match := COMMAND.match(line)) and match["sure"]:
            commands.append(_replace_command(lines, number))
    return "\n".join(lines), commands


def _replace_command(lines: list[str], number: int) -> int:
    """Replace the command on that line, and its continuation lines, with ``pass``."""
    line = lines[number - 1]
    lines[number - 1] = f"{line[: len(line) - len(line.lstrip())]}pass"
    following = number
    while line.endswith("\\") and following < len(lines):
        line, lines[following] = lines[following], ""
        following += 1
    return number


# --- names ------------------------------------------------------------------------------------------------------------


def _find_bindings(node: ast.AST) -> frozenset[str]:
    """Return the names that a statement binds at the top level, or whose object it changes."""
    if isinstance(node, ast.Expr):  # setattr(Model, "generate", generate)
        call = node.value
        known = isinstance(call, ast.Call) and isinstance(call.func, ast.Name) and call.func.id == "setattr"
        return frozenset(_find_root(a) for a in call.args[:1]) if known and isinstance(call, ast.Call) else frozenset()
    return frozenset(_walk_bindings(node))


def _walk_bindings(node: ast.AST) -> Iterator[str]:
    if isinstance(node, DEFINITION):
        yield node.name
    elif isinstance(node, IMPORT):
        yield from ((alias.asname or alias.name).split(".")[0] for alias in node.names)
    elif isinstance(node, (ast.Name, ast.Attribute, ast.Subscript)):
        if isinstance(node.ctx, ast.Store):  # also Model.generate = generate
            yield _find_root(node)
    elif not isinstance(node, ast.Lambda):
        for child in ast.iter_child_nodes(node):
            yield from _walk_bindings(child)


def _find_root(node: ast.AST) -> str:
    while isinstance(node, (ast.Attribute, ast.Subscript)):
        node = node.value
    return node.id if isinstance(node, ast.Name) else ""


def _find_uses(node: ast.stmt | SyntaxError, names: _Names) -> set[str]:
    """Return which of ``names`` a statement uses, at once or later."""
    if isinstance(node, SyntaxError):
        return set()
    try:
        return _find_lookups(compile(ast.Module([node], []), "", "exec", dont_inherit=True), names)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return set()  # code that does not compile cannot run


def _find_lookups(code: types.CodeType, names: _Names) -> set[str]:
    """Return which of ``names`` the code and its functions look up as globals."""
    found = names.harmless.intersection(code.co_names)
    # co_names also has attributes, which do not count, and outside functions the names bound there.
    if not code.co_flags & inspect.CO_OPTIMIZED or not names.others.isdisjoint(code.co_names):
        found = {step.argval for step in dis.get_instructions(code) if step.opname in LOOKUP_OPCODES}
        found &= names.harmless | names.others
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            found |= _find_lookups(constant, names)
    return found


# --- selection -----------------------------------------------------------------------------------------------------


def select_needed(found: Sequence[Statement], wanted: Iterable[str]) -> list[Statement]:
    """Return the statements that the ``wanted`` names need, in order.

    A name used in code refers to its last value or, if the code runs at once (such as the bases of a class), to the
    last value so far; both are kept.
    """
    binding: dict[str, list[int]] = defaultdict(list)
    for number, statement in enumerate(found):
        for name in statement.binds:
            binding[name].append(number)
    harmless = {
        n for n, made in binding.items() if all(isinstance(found[m].node, (*DEFINITION, *IMPORT)) for m in made)
    }
    names = _Names(harmless, (set(binding) | DYNAMIC_LOOKUPS) - harmless)
    definitions = [(n, len(found)) for s in found if isinstance(s.node, DEFINITION) for n in s.binds]
    # A star import may bind any name.
    chosen, seen, open_ends = set(binding["*"]), set[tuple[str, int]](), [(name, len(found)) for name in wanted]
    while open_ends:
        name, before = end = open_ends.pop()
        if end in seen:
            continue
        seen.add(end)
        for number in _find_makers(found, [n for n in binding.get(name, ()) if n < before]):
            if number in chosen:
                continue
            chosen.add(number)
            uses = _find_uses(found[number].node, names)
            open_ends += [(use, end) for use in uses for end in (number, len(found))]
            open_ends += definitions if uses & DYNAMIC_LOOKUPS else []
    return [found[number] for number in sorted(chosen)]


def _find_makers(found: Sequence[Statement], binding: list[int]) -> Iterator[int]:
    """Yield the statements that make the last value of a name: the last that binds it, and later changes to it.

    Loops are excluded, since a training loop would run to its end.
    """
    for number in reversed(binding):
        node = found[number].node
        if isinstance(node, LOOP):
            continue
        yield number
        if not isinstance(node, (ast.AugAssign, ast.Expr, ast.If, ast.Try, ast.With)) and not (
            isinstance(node, (ast.Assign, ast.AnnAssign)) and not any(map(_is_name_target, _get_targets(node)))
        ):
            return


def _get_targets(node: ast.Assign | ast.AnnAssign) -> list[ast.expr]:
    return node.targets if isinstance(node, ast.Assign) else [node.target]


def _is_name_target(target: ast.expr) -> bool:
    """Return whether an assignment binds a name, rather than changing part of an object."""
    return not isinstance(target, (ast.Attribute, ast.Subscript))


def find_skipped(found: Sequence[Statement], kept: Iterable[Statement]) -> list[tuple[int, int]]:
    """Return (cell, line) of each statement that has an effect but is not executed."""
    ran = set(kept)
    return [(s.cell, s.line) for s in found if s not in ran and _has_effect(s.node)]


def _has_effect(node: ast.stmt | SyntaxError) -> bool:
    if isinstance(node, ast.Expr):
        return not isinstance(node.value, ast.Constant) and not CHECK_CALL.match(ast.unparse(node))
    return not isinstance(node, (*DEFINITION, *IMPORT, ast.Pass, SyntaxError))
