"""Grade the cells run so far, from inside a notebook (``from autograder import check``), and show points and reasons.

The grader runs in its own process and the usual sandbox, since the kernel already runs student code. The last report
is cached until the code that counts changes.
"""

from __future__ import annotations

import ast
import hashlib
import io
import os
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from autograder.core import assignment as assignments
from autograder.core.assignment import DEFAULT, NOTEBOOK, Contract
from autograder.grading import subprocess_grade
from autograder.sandbox.loading import notebook_slice, parse
from autograder.submission import notebook

if TYPE_CHECKING:
    from autograder.grading.report import Report

DEADLINE = 600.0  # s, enough for any slow machine
UNDONE = ("not_implemented", "blocked")
UNRUN_HINT = "Only cells run since the kernel started count: run the cells above as well."

_last: tuple[str, Report] | None = None  # hash of the graded code, its report


@dataclass(frozen=True, slots=True)
class Result:
    """The result of `check`: HTML in a notebook, text elsewhere; ``points`` is a number."""

    report: Report | None
    trouble: str = ""  # the reason for a missing report

    @property
    def points(self) -> float:
        return self.report.score if self.report is not None else 0.0

    def __repr__(self) -> str:
        if os.environ.get("NBGRADER_EXECUTION") == "autograde":
            return self._format_score()
        if self.report is None:
            return self.trouble
        from rich.console import Console

        from autograder.render import terminal

        page = io.StringIO()
        # In a notebook rich would otherwise display its own coloured output.
        console = Console(file=page, width=terminal.WIDTH, highlight=False, color_system=None, force_jupyter=False)
        terminal.show(self.report, console)
        return page.getvalue().rstrip("\n")

    def _format_score(self) -> str:
        """Return the points as text, since nbgrader without our preprocessor gives full marks for any other text."""
        if self.report is None:
            raise RuntimeError(self.trouble)
        bonus = {row.id for row in self.report.criteria if row.bonus}
        return f"{sum(check.score for check in self.report.checks if check.criterion not in bonus):g}"

    def _repr_html_(self) -> str:
        from markupsafe import escape

        from autograder.render import html

        return html.render_fragment(self.report) if self.report is not None else f"<p>{escape(self.trouble)}</p>"


def check(criterion: str = "", assignment: str = DEFAULT) -> Result:
    """Grade your work so far and show one criterion of the rubric, or all: ``check("attention")``.

    In a notebook, the last executed definition of each name counts. Elsewhere the files in the current folder are
    graded.
    """
    from autograder.grading import rubric

    loaded = assignments.load(assignment)
    names = [row.id for row in rubric.load(loaded).criteria]
    if criterion and criterion not in names:
        return Result(None, f"check({criterion!r}): no such criterion; choose from {', '.join(names)}")
    ran = _read_history()
    with tempfile.TemporaryDirectory(prefix="autograder-") as folder:
        work = Path.cwd()
        if ran is not None:
            work = Path(folder) / "notebook"
            work.mkdir()
            for name, data in _collect_files(ran, loaded.contract).items():
                (work / name).write_bytes(data)
        report, trouble = _grade(assignment, work, Path(folder) / "report.json")
    if report is None:
        return Result(None, trouble)
    from autograder.grading.report import select_criterion

    shown = select_criterion(report, criterion) if criterion else report
    absent = [entry.name for entry in report.not_implemented if not entry.line]  # a stub has a line
    if ran is not None and any(name in one.message for one in shown.checks if one.status in UNDONE for name in absent):
        shown = shown.model_copy(update={"warnings": (*shown.warnings, UNRUN_HINT)})
    if ran is not None:
        shown = shown.model_copy(update={"warnings": (*shown.warnings, *_list_stale(ran, loaded.contract))})
    return Result(shown)


def _read_history() -> list[str] | None:
    """Return the source of the executed cells, by execution number; None outside of IPython."""
    interactive: Any = sys.modules.get("IPython")
    shell = interactive.get_ipython() if interactive is not None else None
    return None if shell is None else [str(text) for text in shell.history_manager.input_hist_raw[1:]]


def _collect_files(ran: list[str], contract: Contract) -> dict[str, bytes]:
    """Return a notebook of the cells that count, numbered as they were executed, and the files they import."""
    texts = [text if _find_syntax_error(text) is None else "" for text in ran]  # such a cell was never run
    found, _ = notebook_slice.parse_statements(texts)
    kept = notebook_slice.select_needed(found, contract.wanted)
    counting = {statement.cell for statement in kept}
    texts = [text if n in counting else "" for n, text in enumerate(texts[: max(counting, default=0)], 1)]
    files = {NOTEBOOK: notebook.write(texts)}
    imported = {name.split(".")[0] for statement in kept for name in _find_imports(statement.node)}
    # Beside a notebook, the contract's files are a separate submission.
    beside = {path.stem: path for path in sorted(Path.cwd().glob("*.py")) if path.name not in contract.files}
    if imported & set(beside):
        files |= {path.name: path.read_bytes() for path in beside.values() if path.stem.isidentifier()}
    return files


def _find_syntax_error(text: str) -> SyntaxError | None:
    body = parse.parse_body(notebook_slice.remove_commands(text)[0])
    return body if isinstance(body, SyntaxError) else None


def _list_stale(ran: list[str], contract: Contract) -> Iterator[str]:
    """Yield a warning for each definition whose last cell is not valid Python, so that an older one was graded."""
    for name in contract.wanted:
        cells = [n for n, text in enumerate(ran, 1) if name in parse.DEFINITION.findall(text)]
        errors = {n: _find_syntax_error(ran[n - 1]) for n in cells}
        if len(cells) > 1 and (error := errors[cells[-1]]) and (older := [n for n in cells if not errors[n]]):
            yield (
                f"{name} is graded as in cell [{older[-1]}]: cell [{cells[-1]}] is not valid Python (line "
                f"{error.lineno}: {error.msg})."
            )


def _find_imports(node: ast.stmt | SyntaxError) -> list[str]:
    if isinstance(node, ast.ImportFrom):
        return [node.module or ""]
    return [alias.name for alias in node.names] if isinstance(node, ast.Import) else []


def _grade(assignment: str, work: Path, target: Path) -> tuple[Report | None, str]:
    """Return the report on a folder, or the reason for having none."""
    global _last
    digest = hashlib.sha256(assignment.encode())
    for path in sorted(work.glob("*.[pi][yp]*")):
        digest.update(path.name.encode("utf-8", "surrogateescape") + b"\0" + path.read_bytes())
    if _last is not None and _last[0] == digest.hexdigest():
        return _last[1], ""
    outcome = subprocess_grade.grade(assignment, work, target, DEADLINE, quiet=True)
    if outcome.status is None:
        return None, f"The grader did not finish within {DEADLINE:g} s; try again."
    if outcome.report is None:
        lines = outcome.error.strip().splitlines() or [f"the grader exited with status {outcome.status}"]
        return None, lines[-1].removeprefix("autograder: ")
    _last = (digest.hexdigest(), outcome.report)
    return outcome.report, ""
