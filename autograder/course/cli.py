"""The course commands: regrade, override, compare, rescore, export, forget. Each command imports only what it needs."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from autograder.core.errors import BadInput

if TYPE_CHECKING:
    from autograder.grading.rubric import Rubric

course = typer.Typer()

# An option's second name is its old one, kept for one more release.
GradebookFolder = Annotated[
    Path, typer.Option("--gradebook", "--out", help="the gradebook folder, with the reports", show_default=False)
]
Anonymous = Annotated[
    bool | None,
    typer.Option(
        *("--anonymous/--no-anonymous", " /--names"),
        help="replace names with aliases in all output, from now on",
        show_default=False,
    ),
]
Note = Annotated[str, typer.Option(help="the reason, for the record", show_default=False)]
RubricFile = Annotated[Path | None, typer.Option(help="a rubric other than the package's", show_default=False)]
AllowLowerScores = Annotated[
    bool, typer.Option("--allow-lower-scores", "--allow-lower", help="allow exported scores to fall")
]


@course.command("grade-all", help="Grade all submissions: the same as regrade.")
@course.command()
def regrade(
    ctx: typer.Context,
    paths: Annotated[list[Path], typer.Argument(help="folders of submissions or platform exports", show_default=False)],
    gradebook: GradebookFolder,
    workers: Annotated[int, typer.Option(help="parallel graders; 0: one per core", min=0)] = 0,
    scheduler: Annotated[str | None, typer.Option(help="grade on the Dask cluster at this address")] = None,
    roster: Annotated[Path | None, typer.Option(help="a CSV file of the students in the course")] = None,
    attempts: Annotated[str, typer.Option(help="attempts to grade: latest or all")] = "latest",
    nbgrader_name: Annotated[
        str | None,
        typer.Option("--nbgrader-assignment", "--assignment", help="the assignment's name in nbgrader's submitted/"),
    ] = None,
    seed: Annotated[
        int | None, typer.Option(help="derive different hidden inputs from this number and the gradebook's secret")
    ] = None,
    rubric: RubricFile = None,
    note: Note = "",
    anonymous: Anonymous = None,
    allow_lower_scores: AllowLowerScores = False,
    allow_weak_sandbox: Annotated[
        bool,
        typer.Option(
            "--allow-weak-sandbox",
            "--accept-weaker-sandbox",
            help="grade in a weak sandbox, and record that in the report",
        ),
    ] = False,
) -> None:
    """Grade all submissions; a repeated call grades only new or changed ones."""
    from autograder.course import commands

    if attempts not in ("latest", "all"):
        raise BadInput(f"--attempts {attempts}: use latest or all")
    with commands.open_gradebook(gradebook, anonymous, create=True) as book, commands.exclusive_lock(book):
        status = commands.regrade(
            ctx.obj,
            book,
            paths,
            workers=workers or _count_cores(),
            scheduler=scheduler,
            roster=roster,
            all_attempts=attempts == "all",
            nbgrader_name=nbgrader_name,
            seed=seed,
            rubric=_load_rubric(ctx, rubric),
            note=note,
            allow_lower_scores=allow_lower_scores,
            allow_weak_sandbox=allow_weak_sandbox,
        )
    if status:
        raise SystemExit(status)


@course.command()
def override(
    student: Annotated[str, typer.Argument(help="a name, number, e-mail address or alias", show_default=False)],
    check: Annotated[str, typer.Argument(help="a check, written.N for a written answer, or total", show_default=False)],
    points: Annotated[float | None, typer.Argument(help="the points to set", show_default=False)] = None,
    *,
    reason: Annotated[str, typer.Option(help="the reason shown to the student", show_default=False)],
    gradebook: GradebookFolder,
    remove: Annotated[bool, typer.Option("--remove", "--take-back", help="restore the automatic score")] = False,
    anonymous: Anonymous = None,
) -> None:
    """Set points by hand, for this and every later run, until changed or removed."""
    from autograder.course import commands
    from autograder.course.gradebook import overrides

    if (points is None) != remove:
        raise BadInput("override: give either POINTS or --remove")
    with commands.open_gradebook(gradebook, anonymous) as book:
        found = book.find_student(student)
        before, name = commands.find_result(book, found), found.display_name(book.is_anonymous)
        overrides.set_override(book, found, check, points, reason)
        after = commands.find_result(book, found)
        commands.print_line(f"{name}: {commands.format_score(before)} before, {commands.format_score(after)} now.")
        commands.write_pages(book)


@course.command()
def compare(
    old: Annotated[
        int | None, typer.Argument(help="the earlier run (default: the second to last)", show_default=False)
    ] = None,
    new: Annotated[int | None, typer.Argument(help="the later run (default: the last)", show_default=False)] = None,
    *,
    gradebook: GradebookFolder,
    anonymous: Anonymous = None,
) -> None:
    """Show what changed between two runs, per student and check, and why."""
    from autograder.course import commands

    with commands.open_gradebook(gradebook, anonymous) as book:
        commands.compare(book, old, new)


@course.command()
def rescore(
    ctx: typer.Context,
    gradebook: GradebookFolder,
    rubric: RubricFile = None,
    note: Note = "",
    anonymous: Anonymous = None,
    allow_lower_scores: AllowLowerScores = False,
) -> None:
    """Apply a changed rubric to the stored verdicts, without grading again."""
    from autograder.course import commands
    from autograder.course.gradebook.rescore import rescore

    with commands.open_gradebook(gradebook, anonymous) as book, commands.exclusive_lock(book):
        commands.publish_run(book, rescore(book, _load_rubric(ctx, rubric), note), allow_lower_scores)


@course.command()
def export(
    format_name: Annotated[
        str, typer.Argument(metavar="FORMAT", help="csv, canvas, moodle or nbgrader", show_default=False)
    ],
    to: Annotated[Path, typer.Option(help="the file to write", show_default=False)],
    gradebook: GradebookFolder,
    sheet: Annotated[Path | None, typer.Option(help="the gradebook downloaded from Canvas or Moodle")] = None,
    column: Annotated[str | None, typer.Option(help="the column to fill, if several match")] = None,
    scale: Annotated[bool, typer.Option(help="scale to the platform's maximum points")] = False,
    anonymous: Anonymous = None,
) -> None:
    """Export the scores for a learning platform. Students without a grade are left blank."""
    from autograder.course import commands
    from autograder.course.output.grade_export import export_grades

    with commands.open_gradebook(gradebook, anonymous) as book:
        exported = export_grades(book, format_name, to, sheet, column, scale)
        commands.print_line(f"{to}: {len(exported.scores)} scores.")
        commands.print_names("without a score", exported.without_score)
        commands.print_names("graded, but not in the sheet", exported.not_in_sheet)


@course.command()
def forget(
    student: Annotated[str, typer.Argument(help="a name, number, e-mail address or alias", show_default=False)],
    gradebook: GradebookFolder,
    yes: Annotated[bool, typer.Option("--yes", help="delete without asking")] = False,
) -> None:
    """Delete everything stored about a student: names, sources, verdicts, reports, overrides."""
    from autograder.course import commands
    from autograder.course.gradebook.delete_student import delete_student

    with commands.open_gradebook(gradebook, None) as book, commands.exclusive_lock(book):
        found = book.find_student(student)
        if not yes:
            typer.confirm(f"Delete everything stored about {found.name}? This can't be undone.", abort=True)
        kept = delete_student(book, found)
        commands.print_line(
            "Deleted. Earlier exports and the downloaded archive are not touched: delete them yourself."
        )
        if kept:
            others = "1 other student" if kept == 1 else f"{kept} other students"
            commands.print_line(f"The sources are kept, since {others} submitted the same code.")
        commands.write_pages(book)


def _count_cores() -> int:
    """Count the CPU cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _load_rubric(ctx: typer.Context, path: Path | None) -> Rubric:
    from autograder.grading import rubric

    return rubric.load(ctx.obj, path)
