"""Convert a notebook to its cells and back. Only JSON is read here: no code is executed or parsed.

Only the code of a notebook counts. Outputs, text and metadata are dropped at once, so a submission stays small
whatever it plots, and running it again does not change it. sandbox/loading/notebook_slice.py decides which code is
executed.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Sequence
from typing import Any

MAX_SIZE = 50 << 20  # bytes, most of which are outputs
MAX_CELLS = 5000
MAX_CODE = 1 << 20  # bytes, as for a Python file
# A small JSON value can take a hundred times its text in memory; images and tables are long strings.
MAX_CONTAINERS, MAX_VALUES = 250_000, 2_000_000


class BadNotebook(Exception):
    """Raised for data that is not a notebook; the message, part of a line, names the error and the remedy."""


def read(data: bytes) -> list[str]:
    """Return the code of each cell in order, with "" for text cells. Raises BadNotebook.

    Reads formats 2 to 4 of nbformat, even if invalid in some detail: cells without ids, a missing version, outputs of
    any kind. The nbformat library would reject some of these, and grading needs nothing else from it.
    """
    if data.count(b"{") + data.count(b"[") > MAX_CONTAINERS or data.count(b",") > MAX_VALUES:
        raise BadNotebook("too many JSON values to read; clear the notebook's outputs and save it")
    try:
        # int() refuses very long numbers, and none matters here.
        content = json.loads(data, parse_int=len, parse_float=len)
    except RecursionError:
        raise BadNotebook("JSON nested too deeply; save it again in Jupyter") from None
    except ValueError as error:
        line = f" (line {error.lineno} of the file)" if isinstance(error, json.JSONDecodeError) else ""
        raise BadNotebook(f"not a valid notebook{line}; open it in Jupyter and save it again") from None
    cells = list(_find_cells(content))
    if len(cells) > MAX_CELLS:
        raise BadNotebook(f"{len(cells)} cells, but at most {MAX_CELLS} are allowed; submit only your classes")
    code = [_read_source(cell) if isinstance(cell, dict) and cell.get("cell_type") == "code" else "" for cell in cells]
    if sum(len(source.encode()) for source in code) > MAX_CODE:
        raise BadNotebook(f"more than {MAX_CODE >> 20} MB of code; submit only your classes")
    return code


def write(cells: Sequence[str]) -> bytes:
    """Return the smallest notebook with this code, the same bytes for the same cells. Empty cells become text cells."""
    made: list[dict[str, Any]] = [
        {"cell_type": "code", "execution_count": None, "metadata": {}, "outputs": [], "source": source}
        if source
        else {"cell_type": "markdown", "metadata": {}, "source": ""}
        for source in cells
    ]
    return json.dumps({"cells": made, "metadata": {}, "nbformat": 4, "nbformat_minor": 4}).encode("ascii")


def strip_outputs(name: str, data: bytes) -> bytes:
    """Return a file's bytes; for a valid notebook, without its outputs, text and metadata."""
    if not name.lower().endswith(".ipynb") or len(data) > MAX_SIZE:
        return data
    try:
        return write(read(data))
    except BadNotebook:
        return data


def has_work(cells: Iterable[str], given: Iterable[str], names: Iterable[str]) -> bool:
    """Return whether a cell defines one of the assignment's ``names`` and differs from the ``given`` cells."""
    known, defines = set(given), re.compile(rf"^(?:class|def)\s+(?:{'|'.join(names)})\b", re.MULTILINE)
    return any(defines.search(source) and source not in known for source in cells)


def _find_cells(content: Any) -> Iterable[Any]:
    """Return the cells; formats 2 and 3 keep them in worksheets."""
    sheets = [content, *_get_list(content, "worksheets")] if isinstance(content, dict) else []
    if not any(isinstance(sheet, dict) and isinstance(sheet.get("cells"), list) for sheet in sheets):
        raise BadNotebook("no cells in it; open it in Jupyter and save it again")
    return [cell for sheet in sheets for cell in _get_list(sheet, "cells")]


def _get_list(content: Any, key: str) -> list[Any]:
    found = content.get(key) if isinstance(content, dict) else None
    return found if isinstance(found, list) else []


def _read_source(cell: dict[str, Any]) -> str:
    """Return a cell's source as Python reads it; format 3 calls it input."""
    source = cell.get("source", cell.get("input", ""))
    text = "".join(line for line in (source if isinstance(source, list) else [source]) if isinstance(line, str))
    text = text.encode("utf-8", "replace").decode("utf-8")  # a lone surrogate has no encoding
    return text.replace("\r\n", "\n").replace("\r", "\n").replace("\0", "\ufffd").removeprefix("\ufeff").rstrip()
