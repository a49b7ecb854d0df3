"""Write the pages of a gradebook folder: a report for each student and one page for the course staff."""

from __future__ import annotations

import hashlib
import json
import shlex
import sqlite3
import sys
from base64 import b64encode
from dataclasses import dataclass
from pathlib import Path

from markupsafe import Markup

from autograder.core.atomic import write_whole
from autograder.core.errors import BadInput
from autograder.course.gradebook.results import StudentResult, apply_overrides, student_results
from autograder.course.gradebook.store import Gradebook
from autograder.course.intake.identity import sort_key
from autograder.course.output.item_analysis import ItemAnalysis
from autograder.render import html, markdown


@dataclass(frozen=True, slots=True)
class Row:
    """A row of the table, with only the fields shown, so that a large course needs little memory."""

    name: str
    key: str  # identifies the student in a command
    link: str
    latest: bool
    score: float | None
    bonus: float
    written: float | None
    trouble: str
    graded: bool
    overrides: bool
    lost_points: tuple[str, ...]
    lost_bonus: tuple[str, ...]
    mistakes: tuple[str, ...]
    also: tuple[str, ...]


def write(book: Gradebook, run: sqlite3.Row, anonymous: bool) -> tuple[Path, ItemAnalysis]:
    """Write all pages of ``run``, skipping unchanged reports; return the course page and its statistics."""
    rows, analysis = [], ItemAnalysis()
    for standing in student_results(book, run, every=True):
        link = trouble = ""
        if standing.counts:
            analysis.add(standing, standing.shown(anonymous))
            if standing.verdicts:
                trouble = _report(book, standing, anonymous)
                link = f"reports/{standing.student['alias']}.html"
        rows.append(_row(book, standing, anonymous, link, trouble))
    rows.sort(key=lambda row: (sort_key(row.name), row.key))
    path = book.folder / "index.html"
    script = (html.TEMPLATES / "course.js").read_text("utf-8")
    page = html.environment().get_template("course.html").render(
        run=run,
        rows=rows,
        analysis=analysis,
        anonymous=anonymous,
        out=html.plain(shlex.quote(str(book.folder))),
        quote=shlex.quote,
        script=Markup(script),
        script_hash=b64encode(hashlib.sha256(script.encode()).digest()).decode(),
    )  # fmt: skip
    write_whole(path, page)
    return path, analysis


def _report(book: Gradebook, standing: StudentResult, anonymous: bool) -> str:
    """Write the student's report as HTML and text unless it is up to date; return why it could not be rendered."""
    student, entry = standing.student, standing.entry
    assert entry is not None
    found = book.row("SELECT document, graded FROM report WHERE id = ?", entry["report"])
    assert found is not None
    name = standing.shown(anonymous)
    reasons = {what: one.reason for what, one in standing.overrides.items()}
    also = {}
    if (written := standing.written) is not None:
        also["Written answers"] = f"{written:g} points, beside the score"
    if "total" in reasons:
        also["Score set manually"] = reasons["total"]
    made_of = hashlib.sha256(
        json.dumps(
            [name, found["document"], found["graded"], reasons, also, standing.score, _templates()], default=str
        ).encode()
    ).hexdigest()
    target = book.folder / "reports" / student["alias"]
    before = book.row("SELECT made_of FROM page WHERE student = ?", student["id"])
    if before is not None and before["made_of"] == made_of and target.with_suffix(".html").is_file():
        return ""
    trouble = ""
    try:
        report = apply_overrides(book.document(found["document"]), standing)
        page, text = (render(report, name, reasons, also).encode() for render in (html.render, markdown.render))
        book.db.execute("INSERT OR REPLACE INTO page VALUES (?, ?)", (student["id"], made_of))
    except Exception as error:  # one bad report must not stop the others
        trouble = f"the report could not be rendered ({type(error).__name__})"
        line = f"This page is plain because {trouble}. The points still count; please tell the course staff."
        points = [f"{check.title}: {check.score:g} of {check.max_score:g}" for check in standing.verdicts]
        listed = "\n".join([*(f"{key}: {value}" for key, value in also.items()), *points])
        page, text = html.unadorned(name, line, listed).encode(), f"{html.plain(name)}\n\n{line}\n\n{listed}\n".encode()
    write_whole(target.with_suffix(".html"), page)
    write_whole(target.with_suffix(".md"), text)
    return trouble


def _templates() -> str:
    """Return a hash of the templates, so that changing them rewrites the pages."""
    return hashlib.sha256(b"".join(path.read_bytes() for path in sorted(html.TEMPLATES.iterdir()))).hexdigest()


def _row(book: Gradebook, standing: StudentResult, anonymous: bool, link: str, trouble: str) -> Row:
    entry = standing.entry
    also = [trouble] if trouble else []
    if entry is not None and entry["partners"]:
        also.append(f"group of {entry['partners'] + 1}")
    if entry is not None and not standing.counts:
        also.append(f"attempt {entry['attempt']}, not the latest")
    elif entry is not None and entry["attempt"] > 1:
        also.append(f"attempt {entry['attempt']}")
    also += [f"{what} set manually: {one.reason}" for what, one in standing.overrides.items()]
    lost = {verdict.id for verdict in standing.lost_points}
    return Row(
        name=standing.shown(anonymous),
        key=_key(book, standing.student, anonymous),
        link=link,
        latest=standing.counts,
        score=standing.score,
        bonus=standing.bonus,
        written=standing.written,
        trouble=standing.trouble,
        graded=bool(standing.verdicts),
        overrides=bool(standing.overrides),
        lost_points=tuple(sys.intern(v.id) for v in standing.verdicts if v.id in lost),
        lost_bonus=tuple(sys.intern(v.id) for v in standing.verdicts if v.status != "passed" and v.id not in lost),
        mistakes=tuple(dict.fromkeys(sys.intern(one.mistake) for v in standing.verdicts for one in v.diagnosis)),
        also=tuple(also),
    )


def _key(book: Gradebook, student: sqlite3.Row, anonymous: bool) -> str:
    """Return the shortest unambiguous way to name a student in a command."""
    if not anonymous:
        try:
            if book.named(student["name"])["id"] == student["id"]:
                return str(student["name"])
        except BadInput:
            pass  # another student has the same name
    return str(student["alias"])
