"""``python -m tests.matrix [FOLDER ...]``: list the points that each file of the bank loses, by criterion.

Reads the headers, which tests/test_bank.py compares with the grader. The list ends with wrong submissions that lose
nothing outside the bonus, and with points that a class criterion deducts for another class's mistake.
"""

from __future__ import annotations

import sys

from rich.console import Console
from rich.table import Table

from autograder.assignment import ASSIGNMENT
from autograder.grading import rubric
from autograder.grading.rubric import Check, Rubric
from tests import bank_file
from tests.bank_file import BankFile

CLASSES = ("attention", "mlp", "block", "model")
OWN = {  # the beginning of a file's name: the class criteria in which it may lose points
    "attention": {"attention"},
    "mlp": {"mlp"},
    "block": {"block"},
    "norms": {"block", "model"},
    "gpt": {"model"},
    "stack": {"model"},
    "two": set(CLASSES),
}
WHOLE = {"model.training"}  # criteria of the whole model


def main(folders: list[str]) -> None:
    rows = rubric.load(ASSIGNMENT)
    criteria = [criterion.id for criterion in rows.criteria if not criterion.bonus]
    table = Table("submission", *criteria, "points", "mistakes named", box=None, pad_edge=False)
    unharmed, taken = [], []
    for path in bank_file.paths(*(folders or ["mistakes"])):
        entry = bank_file.load(path)
        lost = {check: cost(check, entry.loses.get(check.id, "passed")) for check in rows.checks}
        by_criterion = {c: sum(points for check, points in lost.items() if check.criterion == c) for c in criteria}
        total = sum(by_criterion.values())
        cells = [f"{by_criterion[c]:g}" if by_criterion[c] else "·" for c in criteria]
        table.add_row(path.stem, *cells, f"{rows.total - total:g}", ", ".join(entry.names))
        if not total:
            unharmed.append(path.stem)
        taken += taken_elsewhere(entry, rows)
    console = Console(width=200, highlight=False)
    console.print(table)
    console.print(f"\n{len(unharmed)} lose nothing outside the bonus: {', '.join(unharmed) or 'none'}")
    console.print(f"{len(taken)} times a class takes points for another's mistake: {'; '.join(taken) or 'none'}")


def taken_elsewhere(entry: BankFile, rows: Rubric) -> list[str]:
    """Return the points lost in a class criterion although, by the file's name, the mistake is in another class."""
    own = OWN.get(entry.path.stem.split("_")[0], set())
    return [
        f"{entry.path.stem} {check.id} {entry.loses[check.id]}"
        for check in rows.checks
        if check.id in entry.loses and check.criterion in CLASSES and check.criterion not in own
        if check.id not in WHOLE
    ]


def cost(check: Check, status: str) -> float:
    """Return the points that a check loses with that status."""
    return {"passed": 0.0, "partial": check.points / 2}.get(status, float(check.points))


if __name__ == "__main__":
    main(sys.argv[1:])
