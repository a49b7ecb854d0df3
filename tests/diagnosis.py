"""``python -m tests.diagnosis``: list the diagnosis of each wrong submission of the bank beside its description.

Reads the headers, which tests/test_bank.py compares with the grader: a file that names no mistake gets no diagnosis,
nor does a correct submission. The list ends with the files that cover each row of the table of mistakes.
"""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Console
from rich.table import Table

from autograder.assignment.mistakes import MISTAKES
from tests import bank_file
from tests.bank_file import BankFile


def main() -> None:
    entries = [bank_file.load(path) for path in bank_file.paths("mistakes")]
    variants = [bank_file.load(path) for path in bank_file.paths("variants")]
    table = Table("submission", "what it does", "told first", "and", box=None, pad_edge=False)
    for entry in entries:
        first, *more = [*entry.names, *entry.also, ""] if not entry.unnamed else [f"nothing: {entry.unnamed}"]
        table.add_row(entry.path.stem, entry.about, first, ", ".join(filter(None, more)))
    console = Console(width=220, highlight=False)
    console.print(table)
    named = [entry for entry in entries if not entry.unnamed]
    console.print(f"\n{len(named)} of {len(entries)} wrong submissions are told what it is ({share(entries):.1%})")
    console.print(f"{sum(bool(v.names or v.also) for v in variants)} of {len(variants)} right ones are accused")
    used = {name for entry in entries for name in (*entry.names, *entry.also)}
    rest = [row.name for row in MISTAKES if row.name not in used and not row.accepted]
    console.print(f"{len(rest)} of {len(MISTAKES)} rows have no submission in the bank: {', '.join(rest) or 'none'}")


def share(entries: Sequence[BankFile]) -> float:
    """Return the submissions with a diagnosis."""
    return sum(not entry.unnamed for entry in entries) / len(entries)


if __name__ == "__main__":
    main()
