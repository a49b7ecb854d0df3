"""``python -m tests.matrix [FOLDER ...]``: what each file of the bank loses, criterion by criterion.

Graded, not read from the headers. At the end: which wrong submissions lose nothing, and what a class criterion takes
for a mistake that is not its own.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

from rich.console import Console
from rich.table import Table

from autograder import rubric, submission, suite
from autograder.sandbox.confine import Limits
from autograder.sandbox.process import Zygote
from tests import bank_file

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
WHOLE = {"model.training"}  # of the whole model, as measured


def main(folders: list[str]) -> None:
    rows = rubric.load()
    criteria = [criterion.id for criterion in rows.criteria]
    bonus = {criterion.id for criterion in rows.criteria if criterion.bonus}
    table = Table("submission", *criteria, "points", "mistakes named", box=None, pad_edge=False)
    unharmed, taken = [], []
    with Zygote(Limits(call_cpu=3.0, again_cpu=0.5)) as zygote:
        for path in bank_file.paths(*(folders or ["mistakes"])):
            with tempfile.TemporaryDirectory() as folder:
                report = suite.grade(submission.read(bank_file.load(path).write(Path(folder))), zygote, rows)
            lost = {c: sum(v.max_score - v.score for v in report.of(c)) for c in criteria}
            named = sorted({found.mistake for check in report.checks for found in check.diagnosis})
            points = report.max_score - sum(lost[c] for c in criteria if c not in bonus)
            cells = [f"{lost[c]:g}" if lost[c] else "·" for c in criteria]
            table.add_row(path.stem, *cells, f"{points:g}", ", ".join(named))
            if points == report.max_score:
                unharmed.append(path.stem)
            own = OWN.get(path.stem.split("_")[0], set())
            taken += [
                f"{path.stem}: {check.id} {check.max_score - check.score:g}"
                for check in report.checks
                if check.criterion in CLASSES
                and check.criterion not in own
                and check.id not in WHOLE
                and check.score < check.max_score
            ]
    console = Console(width=200, highlight=False)
    console.print(table)
    console.print(f"\n{len(unharmed)} lose nothing outside the bonus: {', '.join(unharmed) or 'none'}")
    console.print(f"{len(taken)} points taken in another class: {'; '.join(taken) or 'none'}")


if __name__ == "__main__":
    main(sys.argv[1:])
