"""A notebook as its cells, and back. Only JSON is read here: nothing is executed, and no Python is parsed.

What counts of a notebook is its code. Outputs, texts and metadata are left behind at once, so that a submission is
small whatever was drawn in it, and is the same submission when it was run again. Which of the code is executed, and
how, is decided where it runs (sandbox/cells.py).
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Sequence
from typing import Any

from autograder.assignment import ASSIGNMENT

MAX_SIZE = 50 << 20  # bytes, most of which are outputs
MAX_CELLS = 5000
MAX_CODE = 1 << 20  # bytes, as for a Python file
# A small value of JSON can take a hundred times its text in memory; images and tables are long texts.
MAX_CONTAINERS, MAX_VALUES = 250_000, 2_000_000
DEFINES = re.compile(
    rf"^(?:class|def)\s+(?:{'|'.join(entry.name for entry in ASSIGNMENT.contract)})\b", re.MULTILINE
)  # fmt: skip


class BadNotebook(Exception):
    """This is no notebook; the message is part of a line: what is wrong, and what to do."""


def read(data: bytes) -> list[str]:
    """The code of each cell, by place; empty for cells of text. Raises BadNotebook.

    Formats 2 to 4 of nbformat, whether or not they are valid in every detail: cells without ids, a missing version,
    outputs of any kind. The library nbformat would refuse some of these, and grading needs no other part of it.
    """
    if data.count(b"{") + data.count(b"[") > MAX_CONTAINERS or data.count(b",") > MAX_VALUES:
        raise BadNotebook("holds too many values to be read; clear its outputs and save it")
    try:
        # No number in a notebook matters, so an endless one is no reason to refuse it.
        content = json.loads(data, parse_int=len, parse_float=len)
    except RecursionError:
        raise BadNotebook("nested too deeply for a notebook; save it again in Jupyter") from None
    except ValueError as error:
        line = f" (line {error.lineno} of the file)" if isinstance(error, json.JSONDecodeError) else ""
        raise BadNotebook(f"cannot be read as a notebook{line}; open it in Jupyter and save it again") from None
    cells = list(_cells(content))
    if len(cells) > MAX_CELLS:
        raise BadNotebook(f"{len(cells)} cells, at most {MAX_CELLS} are read; hand in your classes alone")
    code = [_text(cell) if isinstance(cell, dict) and cell.get("cell_type") == "code" else "" for cell in cells]
    if sum(len(source.encode()) for source in code) > MAX_CODE:
        raise BadNotebook(f"holds more than {MAX_CODE >> 20} MB of code; hand in your classes alone")
    return code


def write(cells: Sequence[str]) -> bytes:
    """The smallest notebook with this code: the same bytes for the same cells. An empty cell is one of text."""
    made: list[dict[str, Any]] = [
        {"cell_type": "code", "execution_count": None, "metadata": {}, "outputs": [], "source": source}
        if source
        else {"cell_type": "markdown", "metadata": {}, "source": ""}
        for source in cells
    ]
    return json.dumps({"cells": made, "metadata": {}, "nbformat": 4, "nbformat_minor": 4}).encode("ascii")


def smaller(name: str, data: bytes) -> bytes:
    """A file without what is not read of it: a notebook without outputs, as long as it is one."""
    if not name.lower().endswith(".ipynb") or len(data) > MAX_SIZE:
        return data
    try:
        return write(read(data))
    except BadNotebook:
        return data


def work(cells: Iterable[str], given: Iterable[str]) -> bool:
    """Whether a cell defines something that is asked for, and is not as ``given`` out. Others are for trying things."""
    known = set(given)
    return any(DEFINES.search(source) and source not in known for source in cells)


def _cells(content: Any) -> Iterable[Any]:
    """The cells, also of formats 2 and 3, which put them into sheets."""
    sheets = [content, *_list(content, "worksheets")] if isinstance(content, dict) else []
    if not any(isinstance(sheet, dict) and isinstance(sheet.get("cells"), list) for sheet in sheets):
        raise BadNotebook("has no cells; open it in Jupyter and save it again")
    return [cell for sheet in sheets for cell in _list(sheet, "cells")]


def _list(content: Any, key: str) -> list[Any]:
    found = content.get(key) if isinstance(content, dict) else None
    return found if isinstance(found, list) else []


def _text(cell: dict[str, Any]) -> str:
    """The source of a cell as Python takes it; format 3 calls it input."""
    source = cell.get("source", cell.get("input", ""))
    text = "".join(line for line in (source if isinstance(source, list) else [source]) if isinstance(line, str))
    text = text.encode("utf-8", "replace").decode("utf-8")  # half of a surrogate pair has no encoding
    return text.replace("\r\n", "\n").replace("\r", "\n").replace("\0", "\ufffd").removeprefix("\ufeff").rstrip()
