"""Export scores for learning platforms: existing sheets are filled, and missing grades stay blank."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from autograder.core import csv_sheet
from autograder.core.atomic import write_whole
from autograder.core.csv_sheet import Sheet
from autograder.core.errors import BadInput
from autograder.course.gradebook.results import StudentResult, student_results
from autograder.course.gradebook.store import Gradebook, now
from autograder.course.intake import identity
from autograder.course.output import validate

FORMATS = ("csv", "canvas", "moodle", "nbgrader")
NUMBERED = re.compile(r".+ \(\d+\)")  # an assignment's column in Canvas


@dataclass(slots=True)
class FilledSheet:
    """A sheet with scores, its students without one, and students of the gradebook that it does not list."""

    sheet: Sheet
    scores: dict[int, float] = field(default_factory=dict)
    without_score: list[str] = field(default_factory=list)
    not_in_sheet: list[str] = field(default_factory=list)


def plain(found: list[StudentResult], anonymous: bool) -> FilledSheet:
    """Return one row per student: name, score, points by criterion, written answers, reason for a missing grade."""
    criteria = list(
        dict.fromkeys(v.criterion for one in found for v in one.verdicts if v.criterion not in one.bonus_criteria)
    )
    header = ["student", "name", "score", "max_score", "bonus", "written", *criteria, "no_grade_because", "set_by_hand"]
    filled = FilledSheet(Sheet(header, []))
    for one in found:
        points = {name: sum(v.score for v in one.verdicts if v.criterion == name) for name in criteria}
        row: list[object] = [one.student["alias"], one.shown(anonymous)]
        row += [one.score, one.max_score, one.bonus] if one.score is not None else ["", "", ""]
        row += [one.written if one.written is not None else ""]
        row += [points[name] if one.verdicts and one.score is not None else "" for name in criteria]
        row += [one.trouble, "; ".join(f"{what}: {by.reason}" for what, by in one.overrides.items())]
        filled.sheet.rows.append([f"{cell:g}" if isinstance(cell, float) else str(cell) for cell in row])
        count(filled, one, one.shown(anonymous))
    return filled


def canvas(book: Gradebook, found: list[StudentResult], sheet: Sheet, column: str | None, scale: bool) -> FilledSheet:
    """Fill one assignment's column of a downloaded Canvas gradebook; drop the other assignments."""
    header = sheet.header
    if len(header) < 4 or "Student" not in header[0] or "ID" not in header[1] or "Section" not in header:
        raise BadInput("--sheet: not a Canvas gradebook (Student, ID, ..., Section, assignment); export it from Grades")
    section = header.index("Section")
    choices = [name for name in header[section + 1 :] if NUMBERED.fullmatch(name)]
    name = _chosen(column, choices, header)
    at = header.index(name)
    info = list(range(section + 1))
    kept = Sheet([header[n] for n in info] + [name], [], sheet.delimiter)
    filled = FilledSheet(kept)
    mine = {one.student["id"]: one for one in found}
    factor = 1.0
    rows = [row + [""] * (len(header) - len(row)) for row in sheet.rows]
    for row, who, number in _known(book, rows, header[: section + 1]):
        cells = [row[n] for n in info] + [row[at]]
        if "Points Possible" in row[0]:
            factor = _factor(row[at], found, scale)
        elif who is not None:
            cells[-1] = _score(filled, mine, who, number, factor) or row[at]
        kept.rows.append(cells)
    filled.not_in_sheet = [one.shown(False) for one in mine.values() if one.score is not None]
    return filled


def moodle(book: Gradebook, found: list[StudentResult], sheet: Sheet, column: str | None, scale: bool) -> FilledSheet:
    """Fill the grading worksheet of a Moodle assignment."""
    header = sheet.header
    absent = [name for name in ("Identifier", "Grade", "Last modified (grade)") if name not in header]
    if absent:
        raise BadInput(f"--sheet: no column {', '.join(absent)}; download the grading worksheet with Moodle in English")
    at = header.index(_chosen(column, ["Grade"], header))
    most = header.index("Maximum Grade") if "Maximum Grade" in header else None
    filled = FilledSheet(Sheet(header, [], sheet.delimiter))
    mine = {one.student["id"]: one for one in found}
    rows = [row + [""] * (len(header) - len(row)) for row in sheet.rows]
    for row, who, number in _known(book, rows, header):
        cells = list(row)
        if who is not None:
            factor = _factor(row[most], found, scale) if most is not None else 1.0
            cells[at] = _score(filled, mine, who, number, factor) or row[at]
        filled.sheet.rows.append(cells)
    filled.not_in_sheet = [one.shown(False) for one in mine.values() if one.score is not None]
    return filled


def _chosen(column: str | None, choices: list[str], header: list[str]) -> str:
    if column is not None and column not in header:
        raise BadInput(f"--column {column}: not in the sheet; choose from {', '.join(choices)}")
    if column is None and len(choices) != 1:
        raise BadInput(f"--column: choose an assignment: {', '.join(choices) or 'none found'}")
    return column if column is not None else choices[0]


def _factor(possible: str, found: list[StudentResult], scale: bool) -> float:
    """Return the factor that scales full marks to the platform's maximum. Raises BadInput."""
    try:
        points = float(possible.strip().replace(",", "."))
    except ValueError:
        return 1.0
    most = max((one.max_score for one in found), default=0.0)
    if not most or points == most:
        return 1.0
    if not scale:
        raise BadInput(f"the sheet has {points:g} points, the rubric {most:g}; change one, or use --scale")
    return points / most


def _known(
    book: Gradebook, rows: list[list[str]], header: list[str]
) -> Iterator[tuple[list[str], identity.Person | None, int | None]]:
    """Yield each row of a sheet with its person and the matching student, if any."""
    listed = [identity.find_listed(row[: len(header)], header) for row in rows]
    matched = iter(book.matched([who for who in listed if who is not None]))
    for row, who in zip(rows, listed, strict=True):
        yield row, who, next(matched) if who is not None else None


def _score(
    filled: FilledSheet, mine: dict[int, StudentResult], who: identity.Person, number: int | None, factor: float
) -> str:
    """Return the score of student ``number`` and mark the student as listed in the sheet."""
    one = mine.pop(number, None) if number is not None else None
    if one is None:
        filled.without_score.append(f"{who.shown} (no submission)")
        return ""
    count(filled, one, who.shown)
    return "" if one.score is None else f"{round(one.score * factor, 2):g}"


def count(filled: FilledSheet, one: StudentResult, name: str) -> None:
    """Record the score of a student, or its absence."""
    if one.score is None:
        filled.without_score.append(f"{name} ({one.trouble})")
    else:
        filled.scores[one.student["id"]] = one.score


def export(
    book: Gradebook,
    form: str,
    target: Path,
    sheet: Path | None = None,
    column: str | None = None,
    scale: bool = False,
    anonymous: bool = False,
) -> FilledSheet:
    """Write the scores that count to ``target`` and record the export. Raises BadInput."""
    run = book.current()
    if run is None:
        raise BadInput(f"{book.folder}: no finished run yet; run `regrade` first")
    found = list(student_results(book, run))
    if form in ("canvas", "moodle") and sheet is None:
        raise BadInput(f"{form}: --sheet is missing; download the gradebook from there, the scores are filled in")
    if form == "nbgrader":
        from autograder.nbgrader import gradebook

        filled = gradebook.fill(book, found, target)
    elif form == "csv":
        filled = plain(found, anonymous)
    else:
        assert sheet is not None
        fill = canvas if form == "canvas" else moodle
        filled = fill(book, found, csv_sheet.read(sheet), column, scale)
    if form != "nbgrader":
        text = filled.sheet.text()
        problems = validate.CHECKS[form](csv_sheet.parse(text, str(target)))
        if problems:
            raise BadInput(f"{target}: {form} would reject it: {problems[0]}")
        # Without a BOM, spreadsheets assume another encoding.
        write_whole(target, ("\ufeff" if form == "csv" else "") + text)
    with book.all_or_nothing():
        cursor = book.db.execute(
            "INSERT INTO export (at, format, target, run) VALUES (?,?,?,?)", (now(), form, str(target), run["id"])
        )
        book.db.executemany(
            "INSERT INTO exported VALUES (?,?,?)",
            [(cursor.lastrowid, who, score) for who, score in filled.scores.items()],
        )
    return filled
