"""Write the pages of a gradebook folder: a report for each student and one page for the course staff."""

from __future__ import annotations

import contextlib
import hashlib
import json
import shlex
import sys
from base64 import b64encode
from dataclasses import dataclass
from pathlib import Path

from markupsafe import Markup

from autograder.core.atomic import write_whole
from autograder.core.errors import BadInput
from autograder.course.gradebook.overrides import TOTAL, apply_overrides
from autograder.course.gradebook.records import Run, Student
from autograder.course.gradebook.results import StudentResult, compute_results
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


def write_pages(book: Gradebook, run: Run, anonymous: bool) -> tuple[Path, ItemAnalysis]:
    """Write all pages of ``run``, skipping unchanged reports; return the course page and its statistics."""
    rows, analysis = [], ItemAnalysis()
    for result in compute_results(book, run, all_attempts=True):
        link = trouble = ""
        if result.is_latest:
            name = result.student.display_name(anonymous)
            analysis.add(result, name)
            if result.entry is not None and result.entry.report is not None:
                with contextlib.suppress(BadInput):  # without its file, a report has points but no evidence
                    analysis.add_tests(book.load_document(book.get_report(result.entry.report).document), name)
            if result.verdicts:
                trouble = _write_report(book, result, anonymous)
                link = f"reports/{result.student.alias}.html"
        rows.append(_make_row(book, result, anonymous, link, trouble))
    rows.sort(key=lambda row: (sort_key(row.name), row.key))
    path = book.folder / "index.html"
    script = (html.TEMPLATES / "course.js").read_text("utf-8")
    page = html.make_environment().get_template("course.html").render(
        run=run,
        rows=rows,
        analysis=analysis,
        anonymous=anonymous,
        gradebook=html.remove_controls(shlex.quote(str(book.folder))),
        quote=shlex.quote,
        script=Markup(script),
        script_hash=b64encode(hashlib.sha256(script.encode()).digest()).decode(),
    )  # fmt: skip
    write_whole(path, page)
    return path, analysis


def _write_report(book: Gradebook, result: StudentResult, anonymous: bool) -> str:
    """Write the student's report as HTML and text unless it is up to date; return the error if rendering fails."""
    student = result.student
    assert result.entry is not None
    assert result.entry.report is not None
    stored = book.get_report(result.entry.report)
    name = student.display_name(anonymous)
    reasons = {target: one.reason for target, one in result.overrides.items()}
    also = {}
    if (written := result.written) is not None:
        also["Written answers"] = f"{written:g} points, in addition to the score"
    if TOTAL in reasons:
        also["Score set manually"] = reasons[TOTAL]
    inputs = [name, stored.document, stored.graded, reasons, also, result.score, _hash_templates()]
    digest = hashlib.sha256(json.dumps(inputs, default=str).encode()).hexdigest()
    target = book.folder / "reports" / student.alias
    if book.read_page_hash(student) == digest and target.with_suffix(".html").is_file():
        return ""
    trouble = ""
    try:
        report = apply_overrides(book.load_document(stored.document), result)
        page, text = (render(report, name, reasons, also).encode() for render in (html.render, markdown.render))
        book.save_page_hash(student, digest)
    except Exception as error:  # one bad report must not stop the others
        trouble = f"the report could not be rendered ({type(error).__name__})"
        line = f"This page is plain because {trouble}. The points still count; please tell the course staff."
        points = [f"{check.title}: {check.score:g} of {check.max_score:g}" for check in result.verdicts]
        listed = "\n".join([*(f"{key}: {value}" for key, value in also.items()), *points])
        page, text = (
            html.render_fallback(name, line, listed).encode(),
            f"{html.remove_controls(name)}\n\n{line}\n\n{listed}\n".encode(),
        )
    write_whole(target.with_suffix(".html"), page)
    write_whole(target.with_suffix(".md"), text)
    return trouble


def _hash_templates() -> str:
    """Return a hash of the templates, so that changing them rewrites the pages."""
    return hashlib.sha256(b"".join(path.read_bytes() for path in sorted(html.TEMPLATES.iterdir()))).hexdigest()


def _make_row(book: Gradebook, result: StudentResult, anonymous: bool, link: str, trouble: str) -> Row:
    entry = result.entry
    also = [trouble] if trouble else []
    if entry is not None and entry.partners:
        also.append(f"group of {entry.partners + 1}")
    if entry is not None and not result.is_latest:
        also.append(f"attempt {entry.attempt}, not the latest")
    elif entry is not None and entry.attempt > 1:
        also.append(f"attempt {entry.attempt}")
    also += [f"{target} set manually: {one.reason}" for target, one in result.overrides.items()]
    lost = {verdict.id for verdict in result.lost_points}
    return Row(
        name=result.student.display_name(anonymous),
        key=_find_key(book, result.student, anonymous),
        link=link,
        latest=result.is_latest,
        score=result.score,
        bonus=result.bonus,
        written=result.written,
        trouble=result.trouble,
        graded=bool(result.verdicts),
        overrides=bool(result.overrides),
        lost_points=tuple(sys.intern(v.id) for v in result.verdicts if v.id in lost),
        lost_bonus=tuple(sys.intern(v.id) for v in result.verdicts if v.status != "passed" and v.id not in lost),
        mistakes=tuple(dict.fromkeys(sys.intern(one.mistake) for v in result.verdicts for one in v.diagnosis)),
        also=tuple(also),
    )


def _find_key(book: Gradebook, student: Student, anonymous: bool) -> str:
    """Return the shortest unambiguous way to name a student in a command."""
    if not anonymous:
        try:
            if book.find_student(student.name).id == student.id:
                return student.name
        except BadInput:
            pass  # another student has the same name
    return student.alias
