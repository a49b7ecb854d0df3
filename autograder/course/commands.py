"""Run the course commands and print their output: progress, a summary, then the pages."""

from __future__ import annotations

import contextlib
import fcntl
import shutil
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from pathlib import Path

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, ProgressColumn, Task, TextColumn, TimeRemainingColumn
from rich.text import Text

from autograder.core.assignment import Assignment
from autograder.core.errors import BadInput
from autograder.course.gradebook import compare as comparison
from autograder.course.gradebook.match_students import match_or_add_students
from autograder.course.gradebook.records import Run, Student
from autograder.course.gradebook.results import StudentResult, compute_results
from autograder.course.gradebook.store import Gradebook
from autograder.course.intake import collect, identity
from autograder.course.runs.local_pool import RunConfig, open_local_pool
from autograder.course.runs.run import (
    Pool,
    find_missing,
    find_unchanged_run,
    finish_run,
    grade_all,
    make_key,
    plan_run,
)
from autograder.grading import secret
from autograder.grading.rubric import Rubric

SECRET = "secret"  # the file in the folder of a gradebook: never exported, never in a report
SHOWN = 20  # names in a line on the terminal; the page lists all


class Rate(ProgressColumn):
    """A column for submissions per minute."""

    def render(self, task: Task) -> Text:
        return Text(f"{task.speed * 60:.0f}/min" if task.speed else "", style="dim")


def print_line(line: str) -> None:
    """Print a line; names are never read as markup, and characters that the terminal lacks are replaced."""
    encoding = sys.stdout.encoding or "utf-8"
    shown = line.encode(encoding, "replace").decode(encoding)
    Console(highlight=False, markup=False, emoji=False, soft_wrap=True).print(shown)


def print_names(what: str, names: Sequence[str]) -> None:
    """Print ``what`` applies to the students ``names``, if there are any."""
    if names:
        more = f" and {len(names) - SHOWN} more" if len(names) > SHOWN else ""
        print_line(f"{len(names)} {what}: {'; '.join(names[:SHOWN])}{more}")


@contextlib.contextmanager
def open_gradebook(folder: Path, anonymous: bool | None, create: bool = False) -> Iterator[Gradebook]:
    """Open the gradebook in ``folder``, which stores whether names are hidden."""
    with Gradebook(folder, create) as book:
        if anonymous is not None:
            book.set_anonymous(anonymous)
        yield book


@contextlib.contextmanager
def exclusive_lock(book: Gradebook) -> Iterator[None]:
    """Lock the folder's runs against other commands; a killed command leaves no lock. Raises BadInput."""
    with (book.folder / ".lock").open("w") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise BadInput(f"{book.folder}: another command is running there; wait for it to finish") from None
        for left in book.folder.glob("*/.autograder-*"):  # left by a command killed while writing
            shutil.rmtree(left, ignore_errors=True)
        yield


def regrade(
    assignment: Assignment,
    book: Gradebook,
    paths: Sequence[Path],
    *,
    workers: int,
    scheduler: str | None,
    roster: Path | None,
    all_attempts: bool,
    nbgrader_name: str | None,
    seed: int | None,
    rubric: Rubric,
    note: str,
    allow_lower_scores: bool,
    allow_weak_sandbox: bool,
) -> int:
    """Read the submissions, grade the missing ones, finish the run; return the exit status."""
    path = book.folder / SECRET
    if not path.exists() and book.has_runs():
        print_line(
            "This gradebook had no secret, so its hidden inputs could be guessed. Creating one and grading every"
            " submission again."
        )
    config = RunConfig(assignment, rubric, secret.mix(secret.read_or_create(path), seed), allow_weak_sandbox)
    key = make_key(config)
    with book.transaction():
        book.rename_checks(rubric.renamed)
        if roster is not None:
            match_or_add_students(book, identity.read_roster(roster), on_roster=True)
        attempts = collect.collect_attempts(
            paths,
            book.folder / "submissions",
            partial(match_or_add_students, book),
            assignment,
            nbgrader_name,
            all_attempts,
        )
        run = plan_run(book, key, attempts, identity.one_line(", ".join(map(str, paths))), note)
    print_names("ambiguous by name, graded separately", book.list_ambiguous_names(run))
    missing = find_missing(book, key, run)
    total = len(book.list_hashes(run))
    if missing:
        print_line(f"{total} different submissions, {len(missing)} to grade.")
        try:
            with (
                _open_pool(config, scheduler, min(workers, len(missing)), book.folder) as pool,
                _show_progress("Grading", len(missing)) as report_progress,
            ):
                grade_all(book, key, run, pool, missing, report_progress)
        except KeyboardInterrupt:
            left = len(find_missing(book, key, run))
            print_line(f"Interrupted: {total - left} of {total} are graded and saved; repeat the command to continue.")
            return 130
    last = find_unchanged_run(book, run)
    if last is not None and last.state == "current":
        with book.transaction():
            book.delete_run(run)
        print_line(f"Nothing has changed since run {last.id}.")
        write_pages(book)
        return 0
    publish_run(book, run, allow_lower_scores)
    failed = book.count_grader_failures(run)
    if failed:
        print_line(f"The grader itself failed for {failed}, which have no grade; repeat the command to retry them.")
    return 3 if failed else 0


def _open_pool(
    config: RunConfig, scheduler: str | None, workers: int, folder: Path
) -> contextlib.AbstractContextManager[Pool]:
    """Return the pool: a cluster, or this machine with the results in ``folder`` out of reach."""
    if scheduler is None:
        return open_local_pool(config, workers, [folder])
    from autograder.course.runs.dask_pool import open_dask_pool

    return open_dask_pool(config, scheduler)


@contextlib.contextmanager
def _show_progress(what: str, total: int) -> Iterator[Callable[[int], None]]:
    """Show a bar with count, rate and remaining time on standard error."""
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        Rate(),
        TimeRemainingColumn(elapsed_when_finished=True),
    )
    # No refresh thread, since graders are forked from this process at any time.
    with Progress(*columns, console=Console(stderr=True), speed_estimate_period=300, auto_refresh=False) as progress:
        task = progress.add_task(what, total=total)
        progress.refresh()

        def report_progress(count: int) -> None:
            progress.advance(task, count)
            progress.refresh()

        yield report_progress


def publish_run(book: Gradebook, run: Run, allow_lower_scores: bool) -> None:
    """Finish a run: hold it back if exported scores would drop, else write the pages. Raises BadInput."""
    lower = finish_run(book, run, allow_lower_scores)
    if lower:
        print_names(
            "exported scores would drop",
            [f"{one.student.alias} from {one.exported:g} to {one.score:g}" for one in lower],
        )
        raise BadInput(
            f"run {run.id} is saved, but its scores do not count yet: add --allow-lower-scores to accept them;"
            f" `compare --gradebook {book.folder}` shows what changed"
        )
    write_pages(book)


def write_pages(book: Gradebook) -> None:
    """Write the reports and the course page, and print a one-line summary."""
    from autograder.course.output import html_pages

    run = book.find_current_run()
    if run is None:
        return
    path, analysis = html_pages.write_pages(book, run, book.is_anonymous)
    mean = f", mean {analysis.mean:.1f}" if analysis.mean is not None else ""
    print_line(f"Run {run.id}: {analysis.students} students, {analysis.graded} graded{mean}. {path}")
    for reason, count in analysis.reasons.most_common(SHOWN):
        print_line(f"  {count} without a grade: {reason}")


def compare(book: Gradebook, old: int | None, new: int | None) -> None:
    """Print what changed."""
    runs = book.list_finished_runs()
    if old is None and len(runs) < 2:
        raise BadInput(f"{book.folder}: two finished runs are needed to compare, found {len(runs)}")
    first = book.get_finished_run(old) if old is not None else runs[-2]
    second = book.get_finished_run(new) if new is not None else runs[-1]
    print_line(f"Run {first.id} ({_describe_run(first)}) and run {second.id} ({_describe_run(second)}).")
    causes: Counter[str] = Counter()
    changed = moved = 0
    for one in comparison.compare(book, first, second):
        changed += 1
        moved += one.before != one.after
        causes.update(one.causes)
        name = one.student.display_name(book.is_anonymous)
        print_line(f"\n{name}: {_format_grade(one.before)} -> {_format_grade(one.after)}")
        for change in one.changes:
            print_line(
                f"  {change.check or change.title}: {change.before} -> {change.after}  [{' or '.join(change.causes)}]"
            )
            if change.message and change.causes != ("rubric",):  # a changed rubric changes no message
                print_line(f"    {change.message}")
    listed = ", ".join(f"{cause} {count}" for cause, count in causes.most_common())
    print_line(
        f"\n{changed} students changed ({listed}), {moved} of them in score." if changed else "\nNothing changed."
    )


def _describe_run(run: Run) -> str:
    note = f": {run.note}" if run.note else ""
    return f"{run.kind} {run.finished[:16].replace('T', ' ')}{note}"


def _format_grade(score: float | None) -> str:
    return "no grade" if score is None else f"{score:g}"


def find_result(book: Gradebook, student: Student) -> StudentResult:
    """Return a student's result in the run that counts. Raises BadInput."""
    run = book.find_current_run()
    results: Iterable[StudentResult] = compute_results(book, run) if run is not None else ()
    for result in results:
        if result.student.id == student.id:
            return result
    raise BadInput(f"{student.alias}: not in the last run; run `regrade` first")


def format_score(result: StudentResult) -> str:
    """Return the score, and the points for written answers if there are any."""
    written = f", {result.written:g} for written answers" if result.written is not None else ""
    return f"{_format_grade(result.score)}{written}"
