"""Print every check of a report as text: points per criterion, reasons, pictures."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from rich.console import Console, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from autograder.grading.causes import UNDONE, describe_checks
from autograder.grading.report import NO_GRADE, STATUS_PHRASES, CriterionFacts, Report, Verdict, parse_numbers
from autograder.render.terminal import MARKS

CLEAR = ("passed", "partial", "failed")  # statuses whose sign needs no phrase
WIDTH = 100  # columns; wider lines are hard to read
SHADES = " .:+#"
PICTURE = 16  # rows and columns of the influence picture


def show(report: Report, console: Console) -> None:
    """Print ``report`` without trailing blanks."""
    with console.capture() as capture:
        _print_report(report, console, min(console.width, WIDTH))
    text = "".join(f"{line.rstrip()}\n" for line in capture.get().removesuffix("\n").split("\n"))
    console.file.write(text.encode(console.encoding, "replace").decode(console.encoding))


def _print_report(report: Report, console: Console, width: int) -> None:
    unit = f"points + {report.bonus:g} bonus" if report.bonus else "points"
    score = _format_points(report.score, report.max_score, "bold", unit)
    _print_line(console, width, Text(report.submission.id, "bold"), score)
    console.print()
    for warning in report.warnings:
        console.print(Text.assemble(("Note: ", "bold yellow"), warning), width=width)
        console.print()
    for note in report.notes:
        console.print(Text(note, "dim"), width=width)
        console.print()
    texts = describe_checks(report.checks)
    for criterion in report.criteria:
        checks = report.of(criterion.id)
        if all(check.status == "skipped" for check in checks):
            continue
        if criterion.bonus and all(check.status == "not_implemented" for check in checks):
            most = sum(check.max_score for check in checks)
            console.print(Text(f"{criterion.title}: not attempted (up to {most:g} bonus points).", "dim"))
            console.print()
            continue
        _print_criterion(criterion, checks, console, width)
        for check in checks:
            _print_check(check, texts.get(check.id, ""), console, width)
        console.print()
    if report.output.strip():
        lines = len(report.output.strip().splitlines())
        console.print(Text(f"Lines printed by your code during grading: {lines} (saved by --json).", "dim"))
    if report.provenance.accepted_risks:
        could = ", ".join(report.provenance.accepted_risks)
        console.print(Text(f"Graded in a weaker sandbox (risk accepted): student code could {could}.", "yellow"))
    if not report.gradable:
        console.print(Text(NO_GRADE, "bold red"))


def _print_criterion(criterion: CriterionFacts, checks: tuple[Verdict, ...], console: Console, width: int) -> None:
    ran = [check for check in checks if check.status != "skipped"]
    score, maximum = sum(check.score for check in ran), sum(check.max_score for check in ran)
    style = "bold green" if score == maximum else "bold yellow" if score else "bold red"
    title = Text.assemble((criterion.title, "bold"), (f"  {criterion.task}", "dim"))
    _print_line(console, width, title, _format_points(score, maximum, style))


def _print_check(check: Verdict, text: str, console: Console, width: int) -> None:
    if check.status == "skipped":
        return
    sign, ascii_sign, style = MARKS[check.status]
    if not console.encoding.lower().startswith("utf"):
        sign = ascii_sign
    title = Text.assemble((f"  {sign} ", style), check.title)
    if check.status not in CLEAR:
        title.append(f"  ({STATUS_PHRASES[check.status]})", style)
    _print_line(console, width, title, _format_points(check.score, check.max_score, style))
    is_first = text and not (check.status in UNDONE and text.startswith("Same cause"))  # the sign is enough for these
    if is_first:
        style = "dim" if check.status == "passed" else ""
        console.print(Padding(Text(text, style), (0, 0, 0, 4)), width=width)
    for key, draw in PICTURES.items():
        if check.evidence.get(key) and (check.status == "passed") == (key != "influence"):
            console.print(Padding(draw(check.evidence[key]), (0, 0, 0, 4)), width=width)


def _tabulate_parts(parts: dict[str, int]) -> Table:
    """Tabulate parameters and percentages by part, as in the handout."""
    table = Table.grid(padding=(0, 3))
    for _ in range(2):
        table.add_column()
    table.columns[1].justify = "right"
    table.add_column(justify="right")
    total = sum(parts.values())
    for name, count in parts.items():
        table.add_row(name.replace("_", " "), f"{count:,}", f"{100 * count / total:.1f}%")
    table.add_row("total", f"{total:,}", "")
    return table


def _tabulate_losses(losses: dict[str, float]) -> Table:
    """Tabulate the initial loss and the values to compare it with."""
    table = Table.grid(padding=(0, 3))
    table.add_column()
    table.add_column(justify="right")
    for name, loss in zip(losses, parse_numbers(losses.values()), strict=True):
        table.add_row(name, f"{loss:.3f}")
    return table


def _tabulate_shapes(rows: list[tuple[str, list[int]]]) -> Table:
    """Tabulate the shapes that the student's function returned."""
    table = Table.grid(padding=(0, 3))
    for stage, shape in rows:
        table.add_row(stage, f"({', '.join(map(str, shape))})")
    return table


def _format_sample(sample: str) -> Text:
    """Show a sample of the untrained model."""
    return Text.assemble(("A sample from your untrained model:\n", "dim"), sample.replace("\n", "\u23ce"))


def _draw_influence(matrix: list[list[float]]) -> Text:
    """Draw how much each position (rows) depends on each token (columns); entries above the diagonal are leaks."""
    T, matrix = len(matrix), [parse_numbers(row) for row in matrix]
    step = -(-T // PICTURE)
    text = Text(
        "Rows: position of the logits. Columns: the token changed. x: a later token changes earlier logits.\n", "dim"
    )
    largest = max((value for row in matrix for value in row if value < math.inf), default=0.0) or 1.0
    for top in range(0, T, step):
        for left in range(0, T, step):
            rows, columns = range(top, min(top + step, T)), range(left, min(left + step, T))
            value = max(matrix[t][s] for t in rows for s in columns)
            leaks = any(matrix[t][s] > 0 for t in rows for s in columns if s > t)
            level = min(len(SHADES) - 1, int(min(1.0, value / largest) * 8) + (value > 0))
            text.append("x " if leaks else SHADES[level] * 2, "bold red" if leaks else "green")
        text.append("\n")
    text.rstrip()
    return text


PICTURES: dict[str, Callable[[Any], RenderableType]] = {
    "parts": _tabulate_parts,
    "losses": _tabulate_losses,
    "table": _tabulate_shapes,
    "sample": _format_sample,
    "influence": _draw_influence,  # shown if the check failed; the others if it passed
}


def _format_points(score: float, maximum: float, style: str, unit: str = "") -> Text:
    return Text(f"{score:g} / {maximum:g} {unit}".rstrip(), style)


def _print_line(console: Console, width: int, left: Text, right: Text) -> None:
    """Print ``left`` and ``right`` at the two ends of a line."""
    table = Table.grid(padding=(0, 1), expand=True)
    table.add_column()
    table.add_column(justify="right", no_wrap=True)
    table.add_row(left, right)
    console.print(table, width=width)
