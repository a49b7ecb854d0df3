"""Read CSV files with any separator and encoding; write them so that no spreadsheet executes a cell."""

from __future__ import annotations

import csv
import io
import re
from dataclasses import dataclass
from pathlib import Path

from autograder.core.errors import BadInput

NUMBER = re.compile(r"[+-]?\d+([.,]\d+)?%?|-")
# A formula can begin at the start of a cell or after any separator; quotes only protect the file's own separator.
SIGN = r"[=+\-@\uff1d\uff0b\uff0d\uff20]"
FORMULA = re.compile(rf"^(?=\s*{SIGN}|[\t\r\n])|(?<=[;,\t\r\n])(?=[\s\"]*{SIGN})")


@dataclass(frozen=True, slots=True)
class Sheet:
    """A table: its header, its other rows, and its delimiter."""

    header: list[str]
    rows: list[list[str]]
    delimiter: str = ","

    def text(self) -> str:
        """Return the sheet as CSV text, with formulas defused."""
        buffer = io.StringIO(newline="")
        writer = csv.writer(buffer, delimiter=self.delimiter, lineterminator="\r\n")
        writer.writerows([[defuse(cell) for cell in row] for row in [self.header, *self.rows]])
        return buffer.getvalue()


def defuse(cell: str) -> str:
    """Return ``cell`` with an apostrophe before each part that a spreadsheet could run; numbers stay as they are."""
    return cell if NUMBER.fullmatch(cell.strip()) else FORMULA.sub("'", cell)


def read(path: Path) -> Sheet:
    """Read the sheet in ``path``. Raises BadInput."""
    try:
        data = path.read_bytes()
    except OSError as error:
        raise BadInput(f"{path}: {error.strerror}; give the downloaded sheet") from None
    return parse(_decode(data), str(path))


def parse(text: str, shown: str) -> Sheet:
    """Parse the sheet in ``text``. Raises BadInput."""
    head = text.split("\n", 1)[0]
    delimiter = max(",;\t", key=head.count)
    try:
        rows = list(csv.reader(io.StringIO(text, newline=""), delimiter=delimiter))
    except csv.Error as error:
        raise BadInput(f"{shown}: {error}; download the sheet again") from None
    if not rows or not any(rows[0]):
        raise BadInput(f"{shown}: empty; download the sheet again")
    return Sheet([cell.strip() for cell in rows[0]], rows[1:], delimiter)


def _decode(data: bytes) -> str:
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        return data.decode("utf-16", "replace")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError:
        return data.decode("cp1252", "replace")  # written by spreadsheets on Windows
