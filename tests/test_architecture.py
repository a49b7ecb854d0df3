"""Test the structure in docs/architecture.md: rooms import only rooms below them, without cycles."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import ROOT

PACKAGE = ROOT / "autograder"
BELOW_GRADING = {"sandbox", "submission", "core"}
# Rooms that each room may import, besides itself. `assignment` is in none: it is loaded by name and handed down.
ALLOWED = {
    "core": set(),
    "sandbox": {"core"},
    "submission": {"core"},
    "grading": BELOW_GRADING,
    "render": {"grading", "core"},
    "workbench": {"render", "grading", *BELOW_GRADING},
    "lms": {"grading", "submission", "core"},
    "course": {"render", "grading", *BELOW_GRADING},
    "nbgrader": {"course", "lms", "render", "grading", *BELOW_GRADING},
    "cli": {"course", "nbgrader", "lms", "workbench", "render", "grading", *BELOW_GRADING},
    "__main__": {"cli", "sandbox", "core"},
    "__init__": {"workbench"},
    "assignment": {"grading", "sandbox", "core"},
}


def modules() -> dict[str, Path]:
    """Return every module of the package by its dotted name, without the files handed out to students."""
    paths = [path for path in PACKAGE.rglob("*.py") if "handed_out" not in path.parts]
    return {".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__"): path for path in paths}


MODULES = modules()


def imports(path: Path) -> set[str]:
    """Return the package's modules that a file imports, including inside functions, but not only for type checkers."""
    tree = ast.parse(path.read_text("utf-8"))
    typing_only = {
        id(inner)
        for node in ast.walk(tree)
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"
        for inner in ast.walk(node)
    }
    found = set()
    for node in ast.walk(tree):
        if id(node) in typing_only:
            continue
        if isinstance(node, ast.ImportFrom) and node.module and node.module.split(".")[0] == "autograder":
            names = {f"{node.module}.{alias.name}" for alias in node.names}
            found |= {name if name in MODULES else node.module for name in names}
        elif isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names if alias.name in MODULES}
    return found


GRAPH = {name: imports(path) for name, path in MODULES.items()}


def room(module: str) -> str:
    parts = module.split(".")
    return parts[1] if len(parts) > 1 else "__init__"


@pytest.mark.parametrize("name", sorted(ALLOWED))
def test_a_room_imports_only_what_lies_below_it(name: str) -> None:
    wrong = {
        f"{module} -> {imported}"
        for module, found in GRAPH.items()
        if room(module) == name
        for imported in found
        if room(imported) not in {name, "__init__", *ALLOWED[name]}
    }
    assert not wrong


def test_every_room_is_listed() -> None:
    assert {room(module) for module in MODULES} == set(ALLOWED)


def test_no_module_imports_itself_through_others() -> None:
    state: dict[str, int] = {}
    circles = []

    def visit(module: str, path: tuple[str, ...]) -> None:
        state[module] = 1
        for imported in sorted(GRAPH.get(module, ())):
            if state.get(imported) == 1:
                circles.append(" -> ".join((*path[path.index(imported) :], imported)))
            elif imported not in state:
                visit(imported, (*path, imported))
        state[module] = 2

    for module in sorted(GRAPH):
        if module not in state:
            visit(module, (module,))
    assert not circles


def test_reading_a_report_imports_neither_numpy_nor_the_sandbox() -> None:
    code = (
        "import sys, autograder.grading.report; print(sorted(n for n in sys.modules if 'numpy' == n or 'sandbox' in n))"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


def test_only_the_assignment_knows_a_gpt() -> None:
    words = ("multihead", "gpt", "t_max")
    wrong = [
        f"{path.relative_to(ROOT)}:{number}: {line.strip()}"
        for name, path in MODULES.items()
        if room(name) != "assignment"
        for number, line in enumerate(path.read_text("utf-8").splitlines(), 1)
        if any(word in line.casefold() for word in words)
    ]
    assert not wrong
