"""Apply a changed rubric to stored verdicts without running anything."""

from __future__ import annotations

import json
import sqlite3

from autograder.core.atomic import write_whole
from autograder.core.errors import BadInput
from autograder.course.gradebook.store import Gradebook, now
from autograder.course.runs.run import ReportKey
from autograder.grading.report import CriterionFacts, Report, Verdict, totals
from autograder.grading.rubric import Check, Rubric

SHARES = {"passed": 1.0, "partial": 0.5}  # for a check that was worth nothing before


def rescore_report(report: Report, rubric: Rubric) -> Report:
    """Return ``report`` with the points of ``rubric``. Raises BadInput if a check of the rubric never ran."""
    before = {check.id: check for check in report.checks}
    new = [row.id for row in rubric.checks if row.id not in before]
    if new:
        raise BadInput(f"{', '.join(new)}: new in the rubric, so there is no verdict yet; use `regrade` instead")
    checks = tuple(_valued(before[row.id], row) for row in rubric.checks)
    bonus = {criterion.id for criterion in rubric.criteria if criterion.bonus}
    score, max_score, extra = totals(checks, bonus, rubric.total)
    return report.model_copy(
        update={
            "checks": checks,
            "criteria": tuple(
                CriterionFacts(id=c.id, title=c.title, task=c.task, bonus=c.bonus) for c in rubric.criteria
            ),
            "provenance": report.provenance.model_copy(update={"rubric": rubric.version}),
            "score": score,
            "max_score": max_score,
            "bonus": extra,
            "gradable": all(check.status != "error" for check in checks),
        }
    )


def _valued(verdict: Verdict, row: Check) -> Verdict:
    share = verdict.score / verdict.max_score if verdict.max_score else SHARES.get(verdict.status, 0.0)
    return verdict.model_copy(
        update={
            "criterion": row.criterion,
            "title": row.title,
            "score": share * row.points,
            "max_score": float(row.points),
        }
    )


def rescore(book: Gradebook, rubric: Rubric, note: str) -> sqlite3.Row:
    """Create an open run: the current one's submissions with the points of ``rubric``. Raises BadInput."""
    last = book.current()
    if last is None:
        raise BadInput(f"{book.folder}: no finished run yet; run `regrade` first")
    if last["rubric"] == rubric.version:
        raise BadInput(
            "the rubric has not changed since the last run; edit the assignment's rubric.toml or use --rubric"
        )
    key = ReportKey(last["grader"], rubric.version, last["seed"])
    entered: dict[int, tuple[int | None, str | None]] = {}
    for row in book.rows(
        "SELECT DISTINCT report.* FROM report JOIN entry ON report.id = report WHERE run = ?", last["id"]
    ):
        try:
            stored = book.document(row["document"])
        except BadInput:  # one damaged report must not stop the others
            remedy = f"delete results/{row['document']} and run `regrade`"
            entered[row["id"]] = (None, f"its stored report cannot be read; {remedy}")
            continue
        report = rescore_report(stored, rubric)
        name, document = key.document(row["sha256"]), report.to_json()
        write_whole(book.folder / "results" / name, document)
        with book.all_or_nothing():
            entered[row["id"]] = (book.keep(report, name), None)
    with book.all_or_nothing():
        book.db.execute("DELETE FROM entry WHERE run IN (SELECT id FROM run WHERE state = 'open')")
        book.db.execute("DELETE FROM run WHERE state = 'open'")
        cursor = book.db.execute(
            "INSERT INTO run (kind, state, started, source, note, grader, rubric, seed)"
            " VALUES ('rescore','open',?,?,?,?,?,?)",
            (now(), json.dumps({"rescored": last["id"]}), note, key.grader, key.rubric, key.seed),
        )
        run = cursor.lastrowid
        book.db.executemany(
            "INSERT INTO entry SELECT ?, student, attempt, latest, submitted, partners, sha256, coalesce(?, trouble), ?"
            " FROM entry WHERE run = ? AND report IS ?",
            [(run, trouble, new, last["id"], old) for old, (new, trouble) in [*entered.items(), (None, (None, None))]],
        )
    found = book.row("SELECT * FROM run WHERE id = ?", run)
    assert found is not None
    return found
