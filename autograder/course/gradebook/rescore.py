"""Apply a changed rubric to stored verdicts without running anything."""

from __future__ import annotations

import json
from dataclasses import replace

from autograder.core.atomic import write_whole
from autograder.core.errors import BadInput
from autograder.course.gradebook.records import Run
from autograder.course.gradebook.store import Gradebook
from autograder.grading.report import CriterionFacts, Report, Verdict, compute_totals
from autograder.grading.rubric import Check, Rubric

SHARES = {"passed": 1.0, "partial": 0.5}  # for a check that was worth nothing before


def rescore_report(report: Report, rubric: Rubric) -> Report:
    """Return ``report`` with the points of ``rubric``. Raises BadInput if a check of the rubric never ran."""
    before = {rubric.renamed.get(check.id, check.id): check for check in report.checks}
    new = [row.id for row in rubric.checks if row.id not in before]
    if new:
        raise BadInput(f"{', '.join(new)}: new in the rubric, so there is no verdict yet; use `regrade` instead")
    checks = tuple(_apply_points(before[row.id], row) for row in rubric.checks)
    bonus = {criterion.id for criterion in rubric.criteria if criterion.bonus}
    score, max_score, extra = compute_totals(checks, bonus, rubric.total)
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


def _apply_points(verdict: Verdict, row: Check) -> Verdict:
    """Return ``verdict`` with the title and points of the rubric's ``row``."""
    share = verdict.score / verdict.max_score if verdict.max_score else SHARES.get(verdict.status, 0.0)
    return verdict.model_copy(
        update={
            "id": row.id,
            "criterion": row.criterion,
            "title": row.title,
            "score": share * row.points,
            "max_score": float(row.points),
        }
    )


def rescore(book: Gradebook, rubric: Rubric, note: str) -> Run:
    """Create an open run: the current one's submissions with the points of ``rubric``. Raises BadInput."""
    last = book.require_current_run()
    if last.key.rubric == rubric.version:
        raise BadInput(
            "the rubric has not changed since the last run; edit the assignment's rubric.toml or use --rubric"
        )
    key = replace(last.key, rubric=rubric.version)
    with book.transaction():
        book.rename_checks(rubric.renamed)
    rescored: dict[int, tuple[int | None, str]] = {}
    for stored in book.list_reports(last):
        try:
            old = book.load_document(stored.document)
        except BadInput:  # one damaged report must not stop the others
            remedy = f"delete results/{stored.document} and run `regrade`"
            rescored[stored.id] = (None, f"its stored report cannot be read; {remedy}")
            continue
        report = rescore_report(old, rubric)
        name = key.file_name(stored.sha256)
        write_whole(book.folder / "results" / name, report.to_json())
        with book.transaction():
            rescored[stored.id] = (book.save_report(report, name), "")
    with book.transaction():
        run = book.open_run("rescore", key, json.dumps({"rescored": last.id}), note)
        book.copy_entries(last, run, rescored)
    return run
