"""Grade many submissions in a run: only missing or changed ones, and save each result at once.

A result is a file, written atomically, and its verdicts are rows of the gradebook. Repeating the command resumes an
interrupted run: finished submissions are not graded again.
"""

from __future__ import annotations

import contextlib
from collections import Counter
from collections.abc import Callable, Iterable
from concurrent.futures import FIRST_COMPLETED, Future, wait
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from autograder.core.atomic import write_whole
from autograder.core.errors import BadInput
from autograder.core.text import clean
from autograder.course.gradebook.records import ReportKey, Run, Student
from autograder.course.gradebook.results import compute_results
from autograder.course.gradebook.store import Gradebook
from autograder.course.intake import collect
from autograder.course.intake.collect import CollectedAttempt
from autograder.course.runs.local_pool import GradeResult, RunConfig
from autograder.grading import secret, suite
from autograder.grading.report import Report

TRIES = 3  # for a submission whose grading kills a process


class Pool(Protocol):
    """A pool that grades submissions."""

    chunk: int
    is_shared: bool  # losing a process loses all running tasks

    @property
    def max_running(self) -> int:
        """Return how many tasks to keep running."""

    def submit(self, chunk: list[tuple[str, Path]]) -> Future[list[GradeResult]]:
        """Grade these sources."""

    def renew(self) -> None:
        """Start over after a loss."""


def make_key(config: RunConfig) -> ReportKey:
    """Return the facts, besides the submissions, that determine the reports of a run."""
    return ReportKey(suite.grader_version(config.assignment), config.rubric.version, secret.identify(config.secret))


def plan_run(book: Gradebook, key: ReportKey, attempts: Iterable[CollectedAttempt], source: str, note: str) -> Run:
    """Return the open run over these ``attempts``: an interrupted one with the same key, or a new one.

    Raises BadInput if there are none.
    """
    attempts = list(attempts)
    if not attempts:
        raise BadInput(f"{source}: no submission in it; give the folder or archive that contains them")
    run = book.resume_run(key, source, note) or book.open_run("regrade", key, source, note)
    book.add_entries(run, attempts)
    return run


def find_missing(book: Gradebook, key: ReportKey, run: Run) -> list[str]:
    """Return the hashes without a report, after entering results that exist only as files."""
    missing = []
    for sha256 in book.list_hashes(run):
        found = book.find_report(sha256, key)
        path = book.folder / "results" / key.file_name(sha256)
        if found is None and path.is_file():
            with contextlib.suppress(ValueError), book.transaction():  # if invalid, the submission is graded again
                book.save_report(Report.model_validate_json(path.read_bytes()), path.name)
            found = book.find_report(sha256, key)
        if found is not None and found.gradable and path.is_file():
            book.enter_result(run, sha256, found.id, "")
        else:
            missing.append(sha256)
    return missing


def grade_all(
    book: Gradebook, key: ReportKey, run: Run, pool: Pool, missing: list[str], report_progress: Callable[[int], None]
) -> None:
    """Grade the ``missing`` hashes; call ``report_progress`` with the number of newly finished submissions."""
    store = book.folder / "submissions"
    left = [
        [(sha, collect.source_path(store, sha)) for sha in missing[i : i + pool.chunk]]
        for i in range(0, len(missing), pool.chunk)
    ]
    left.reverse()
    suspects: list[list[tuple[str, Path]]] = []  # running when a process was lost; each is graded again by itself
    running: dict[Future[list[GradeResult]], list[tuple[str, Path]]] = {}
    tries: Counter[str] = Counter()
    one_at_a_time = False
    while left or suspects or running:
        loss: Exception | None = None
        repeat: list[list[tuple[str, Path]]] = []
        if not running:
            one_at_a_time = pool.is_shared and bool(suspects)
        limit = 1 if one_at_a_time else pool.max_running
        while (queue := suspects or left) and len(running) < limit and loss is None:
            chunk = queue.pop()
            try:
                running[pool.submit(chunk)] = chunk
            except Exception as error:  # a process has died since the last result
                loss = error
                repeat.append(chunk)
        finished, _ = wait(running, return_when=FIRST_COMPLETED)
        for future in finished:
            chunk = running.pop(future)
            try:
                results = future.result()
            except Exception as error:  # always the grader's fault; the others continue
                loss = error
                repeat.append(chunk)
                continue
            for result in results:
                _save_result(book, key, run, result)
            report_progress(len(chunk))
        if loss is None:
            continue
        if pool.is_shared:
            repeat = [[one for chunk in (*repeat, *running.values()) for one in chunk]]
            running.clear()
        pool.renew()
        for chunk in repeat:
            if len(chunk) == 1:  # in a larger chunk any of them may be at fault
                tries[chunk[0][0]] += 1
            for sha, path in chunk:
                if tries[sha] < TRIES:
                    suspects.append([(sha, path)])
                else:
                    trouble = f"the grader's processes were lost {TRIES} times: {loss}"
                    _save_result(book, key, run, GradeResult(sha, trouble=trouble))
                    report_progress(1)


def _save_result(book: Gradebook, key: ReportKey, run: Run, result: GradeResult) -> None:
    """Save one result: first the file, then the rows that refer to it."""
    trouble, name = result.trouble, key.file_name(result.sha256)
    if result.document:
        try:
            report = Report.model_validate_json(result.document)
            write_whole(book.folder / "results" / name, result.document)
            with book.transaction():
                return book.enter_result(run, result.sha256, book.save_report(report, name), "")
        except (ValueError, ArithmeticError) as error:  # one bad report must not stop the others
            trouble = f"not graded: its report could not be saved ({type(error).__name__})"
    book.enter_result(run, result.sha256, None, clean(trouble))


# --- the end of a run -------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class LowerScore:
    """An exported score that a run would lower."""

    student: Student
    exported: float
    score: float


def finish_run(book: Gradebook, run: Run, allow_lower_scores: bool) -> list[LowerScore]:
    """Make ``run`` the one that counts, or hold it back if it would lower exported scores, and return those scores."""
    lower = []
    for result in compute_results(book, run):
        exported = book.find_exported_score(result.student)
        # A missing grade is never exported, so it cannot lower a score.
        if exported is not None and result.score is not None and result.score < exported:
            lower.append(LowerScore(result.student, exported, result.score))
    is_held = bool(lower) and not allow_lower_scores
    book.finish_run(run, "held" if is_held else "current")
    return lower if is_held else []


def find_unchanged_run(book: Gradebook, run: Run) -> Run | None:
    """Return the last finished run if ``run`` has exactly the same entries, else None."""
    last = book.find_previous_run(run)
    return last if last is not None and book.have_same_entries(last, run) else None
