"""Find out which written questions are answered, in answers.md or in the notebook, whichever is submitted."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from autograder.core.assignment import NOTEBOOK, Assignment

ANSWERS = "answers.md"
PLACEHOLDER = "YOUR ANSWER HERE"
QUESTION = re.compile(
    r"^## (?P<number>\d+)\. [^\n]+ \((?P<points>\d+) points(?P<optional>, optional)?\)[ ]*$(?P<body>.*?)(?=^## |\Z)",
    re.MULTILINE | re.DOTALL,
)
CELL = re.compile(r"written-(\d+)")


@dataclass(frozen=True, slots=True)
class Question:
    """A written question of the assignment, its points, and whether the student answered it."""

    number: int
    points: int
    is_optional: bool
    is_answered: bool


def read_answers(assignment: Assignment, files: Mapping[str, bytes]) -> list[Question]:
    """Return the written questions, with what ``files`` answer: a notebook if there is one, else answers.md."""
    path = assignment.stubs / ANSWERS
    if not path.is_file():
        return []
    asked = {int(found["number"]): found for found in QUESTION.finditer(path.read_text("utf-8"))}
    notebook = next((data for name, data in files.items() if name.endswith(".ipynb")), None)
    if notebook is not None:
        answered = _read_cells(notebook)
    else:
        page = files.get(ANSWERS, b"").decode("utf-8", "replace")
        answered = _read_page(page, {number: found["body"] for number, found in asked.items()})
    return [
        Question(number, int(found["points"]), bool(found["optional"]), number in answered)
        for number, found in asked.items()
    ]


def describe_missing(questions: Iterable[Question], form: str) -> list[str]:
    """Return one line for the questions that are not answered, and one for the optional ones."""
    lines = []
    for optional in (False, True):
        empty = [one for one in questions if not one.is_answered and one.is_optional == optional]
        if empty:
            numbers = _join([str(one.number) for one in empty])
            points = sum(one.points for one in empty)
            are = f"question {numbers} is" if len(empty) == 1 else f"questions {numbers} are"
            kind = "optional, " if optional else ""
            lines.append(f"{form}: {are} empty ({kind}{points} points, marked by hand)")
    return lines


def name_form(files: Iterable[str]) -> str:
    """Return the name of the file with the written answers, among those that are submitted."""
    return next((name for name in files if name.endswith(".ipynb") and name != NOTEBOOK), ANSWERS)


def _read_page(text: str, asked: Mapping[int, str]) -> set[int]:
    """Return the numbers of the questions with text below them besides the question itself."""
    found = set()
    for question in QUESTION.finditer(text.replace("\r\n", "\n")):
        number = int(question["number"])
        own = set(map(str.strip, asked.get(number, "").splitlines()))
        if any(line.strip() not in own for line in question["body"].splitlines() if line.strip()):
            found.add(number)
    return found


def _read_cells(data: bytes) -> set[int]:
    """Return the numbers of the questions whose cell has text besides the placeholder."""
    try:
        cells = json.loads(data)["cells"]
        found = set()
        for cell in cells:
            metadata = cell.get("metadata", {})
            name = CELL.fullmatch(str(cell.get("id", ""))) or CELL.fullmatch(
                str(metadata.get("nbgrader", {}).get("grade_id", ""))
            )
            source = cell.get("source", "")
            if name and "".join(source).replace(PLACEHOLDER, "").strip():
                found.add(int(name[1]))
        return found
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return set()


def _join(words: list[str]) -> str:
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} and {words[-1]}"
