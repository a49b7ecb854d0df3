"""Make notebooks for tests: the code of files in cells, as a student would write it."""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from autograder.submission import notebook

BY_HAND = re.compile(r"^(?=@|class |def |import |from )", re.MULTILINE)  # pieces of code that does not parse
FROM_PAPER = re.compile(r"^from paper import .*\n", re.MULTILINE)
FROM_HEAD = re.compile(r"^from head import Head.*\n", re.MULTILINE)


def cells_of(source: str) -> list[str]:
    """Split a source into cells: one for each definition, and one for the code between two definitions."""
    try:
        body = ast.parse(source).body
    except SyntaxError:
        return [part for part in BY_HAND.split(source) if part.strip()]
    lines, cells, start = source.split("\n"), list[str](), 0
    for node in body:
        if isinstance(node, (ast.ClassDef, ast.FunctionDef)):
            first = min([node.lineno, *(d.lineno for d in node.decorator_list)]) - 1
            cells += ["\n".join(lines[start:first]), "\n".join(lines[first : node.end_lineno])]
            start = node.end_lineno or start
    return [cell for cell in [*cells, "\n".join(lines[start:])] if cell.strip()]


def of_files(files: Mapping[str, bytes]) -> bytes:
    """Return a notebook with the definitions of these files, in this order."""
    texts = [files[name].decode() for name in ("head.py", "gpt.py", "paper.py", "verify.py") if name in files]
    if "head.py" in files:
        texts = [FROM_HEAD.sub("", text) for text in texts]
    texts = [FROM_PAPER.sub("", text) for text in texts]
    return notebook.write([cell for text in texts for cell in cells_of(text)])


def code(source: str | list[str], **more: Any) -> dict[str, Any]:
    """Return a code cell, with the other fields of a cell."""
    return {"cell_type": "code", "execution_count": 1, "metadata": {}, "outputs": [], "source": source} | more


def save(path: Path, *cells: str | dict[str, Any], **top: Any) -> Path:
    """Return a notebook of these cells; texts are code."""
    made = [code(cell) if isinstance(cell, str) else cell for cell in cells]
    path.write_text(json.dumps({"cells": made, "metadata": {}, "nbformat": 4, "nbformat_minor": 5} | top))
    return path
