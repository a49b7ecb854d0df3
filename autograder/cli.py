"""Define the commands.

Exit status: 0 graded, 1 below --fail-under, 2 bad input or usage, 3 the grader failed or refused to grade in a weak
sandbox.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Annotated

import typer

from autograder.core import assignment as assignments
from autograder.core.assignment import DEFAULT
from autograder.core.atomic import write_whole
from autograder.core.errors import BadInput, Refused
from autograder.course.cli import course
from autograder.course.output import FORMATS

app = typer.Typer(name="autograder", add_completion=False, rich_markup_mode=None, pretty_exceptions_enable=False)
app.add_typer(course)
FORMATS["nbgrader"] = "autograder.nbgrader.gradebook"  # nbgrader/ imports course/, which must not import it back


@app.callback()
def _load_assignment(
    ctx: typer.Context,
    assignment: Annotated[str, typer.Option(help="the assignment's package")] = DEFAULT,
) -> None:
    """Grade a PyTorch assignment."""
    ctx.obj = assignments.load(assignment)


@app.command()
def grade(
    ctx: typer.Context,
    path: Annotated[
        Path, typer.Argument(help="a Python file or notebook, or a folder or zip file with one", show_default=False)
    ],
    json: Annotated[
        Path | None, typer.Option(help="write the report to this JSON file, and the model's sample, if any, beside it")
    ] = None,
    html: Annotated[Path | None, typer.Option(help="write the report to this HTML file, with plots")] = None,
    seed: Annotated[int | None, typer.Option(help="seed for the hidden inputs; --official adds a new secret")] = None,
    secret_file: Annotated[Path | None, typer.Option(help="file with the secret that seeds the hidden inputs")] = None,
    only: Annotated[
        str | None, typer.Option(help="grade only this part: a criterion, class, function or task, such as 5.1")
    ] = None,
    history: Annotated[
        Path | None,
        typer.Option(help="store points in this folder, show changes since the last run, write report.html beside it"),
    ] = None,
    all_checks: Annotated[bool, typer.Option("--all", help="print every check, not just the first cause")] = False,
    fail_under: Annotated[float | None, typer.Option(help="exit with status 1 below this score")] = None,
    official: Annotated[
        bool, typer.Option("--official", help="refuse to grade unless the sandbox is fully enforced")
    ] = False,
    allow_weak: Annotated[
        bool,
        typer.Option(
            "--allow-weak-sandbox",
            "--accept-weaker-sandbox",
            help="with --official: grade in a weak sandbox, and record that in the report",
        ),
    ] = False,
) -> None:
    """Grade one submission and print the report."""
    # torch takes longest to load, so start it first and import the rest meanwhile.
    from autograder.sandbox.remote.client import Zygote

    with Zygote() as zygote:
        from autograder.grading import rubric, suite
        from autograder.grading import secret as secrets
        from autograder.submission.archive import BadSubmission
        from autograder.submission.read import read_submission

        try:
            submission = read_submission(path, ctx.obj)
        except BadSubmission as error:
            raise BadInput(str(error)) from None
        rows = rubric.load(ctx.obj)
        if allow_weak and not official:
            raise BadInput("--allow-weak-sandbox needs --official; without it nothing is refused")
        if only is not None:
            rubric.select(rows, ctx.obj.contract, only)  # a wrong name must surface before torch is loaded
        if seed is not None and secret_file is not None:
            raise BadInput("--seed and --secret-file both set the hidden inputs; give only one")
        # Read before any student code runs.
        secret = secrets.PUBLIC if seed is None else str(seed).encode()
        if secret_file is not None:
            secret = _read_secret(secret_file)
        elif official:
            secret = secrets.mix(secrets.draw(), seed)
        for option, file in (("--json", json), ("--html", html)):
            if file is not None and file.is_dir():
                raise BadInput(f"{option} {file}: this is a folder; name a file in it")
            if file is not None and not file.absolute().parent.is_dir():
                raise BadInput(f"{option} {file}: create the folder {file.absolute().parent} first")

        from rich.console import Console

        from autograder.render import listing, terminal

        with Console(stderr=True).status("Loading torch ...") as status:
            zygote.wait_until_ready()
            status.update("Checking ...")
            accepted_risks: tuple[str, ...] = ()
            if official:
                from autograder.sandbox.isolation import selftest

                accepted_risks = selftest.check(zygote, [] if json is None else [json.absolute().parent], allow_weak)
            report = suite.grade(
                ctx.obj,
                submission,
                zygote,
                rows,
                secret=secret,
                only=only,
                on_verdict=lambda v: status.update(f"Checked: {v.title}"),
                mode="official" if official else "local",
                accepted_risks=accepted_risks,
            )
    if json is not None:
        write_whole(json, report.to_json())
        for check in report.checks:
            if sample := check.evidence.get("sample"):
                write_whole(json.with_suffix(".before.txt"), f"{sample}\n")
    if html is not None:
        from autograder.render import html as page

        write_whole(html, page.render(report))
    progress = terminal.Progress(page=html.name if html is not None else "")
    if history is not None and report.gradable:
        from autograder.workbench.progress import record

        progress = record(ctx.obj, report, path, history, html)
    if all_checks:
        listing.show(report, Console(highlight=False))
        if progress.change:
            print(progress.change)
    else:
        terminal.show(report, Console(highlight=False), progress)
    if not report.gradable:
        raise SystemExit(3)
    if fail_under is not None and report.score < fail_under:
        raise SystemExit(1)


@app.command()
def submit(
    ctx: typer.Context,
    path: Annotated[Path, typer.Argument(help="the folder with your work")] = Path("student"),
    out: Annotated[Path, typer.Option(help="the zip file to write")] = Path("submission.zip"),
    history: Annotated[Path | None, typer.Option(help="the folder passed to grade --history")] = None,
) -> None:
    """Pack the zip file to submit, and list its contents."""
    from autograder.workbench import pack

    packed = pack.pack(ctx.obj, path, out, history)
    if packed.trouble:  # before the list, which would look like a success
        print(f"{packed.trouble} Fix this before you upload {out}.")
    print(f"{out}, {'packed all the same' if packed.trouble else 'ready to upload'}:")
    for name, data in packed.files.items():
        print(f"  {name:14} {len(data) / 1024:6.1f} kB")
    for name in packed.unchanged:
        print(f"  {name:14} left out: unchanged")
    print("\n".join(packed.lines))
    if packed.trouble:
        raise SystemExit(2)


@app.command()
def lms(
    ctx: typer.Context,
    platform: Annotated[str, typer.Argument(help="gradescope, prairielearn or junit")],
    root: Annotated[Path | None, typer.Option(help="the platform's folder, if different from the default")] = None,
    submission: Annotated[Path | None, typer.Option(help="the submission, if different from the default")] = None,
    out: Annotated[Path | None, typer.Option(help="the result file, if different from the default")] = None,
) -> None:
    """Grade on a platform and write the result file it reads."""
    from autograder.lms import PLATFORMS, run

    if platform not in PLATFORMS:
        raise BadInput(f"lms {platform}: no such platform; choose from {', '.join(PLATFORMS)}")
    raise SystemExit(run.run(ctx.obj, platform, root, submission, out))


@app.command()
def package(
    ctx: typer.Context,
    platform: Annotated[str, typer.Argument(help="student, or a platform: gradescope, prairielearn")],
    out: Annotated[Path, typer.Option(help="the zip file to write")],
    secret_file: Annotated[
        Path | None, typer.Option(help="secret of an earlier package, to reuse its hidden inputs")
    ] = None,
    image: Annotated[
        str | None, typer.Option(help="image that PrairieLearn pulls, by default NAME:prairielearn")
    ] = None,
) -> None:
    """Build a package: with a new secret, to upload to a platform; without a secret, for students."""
    from autograder.core.zip_writer import zip_entries
    from autograder.grading import rubric
    from autograder.lms import PLATFORMS, get
    from autograder.lms.package_files import collect_student, make_secret

    makers = {name: make for name in PLATFORMS if (make := getattr(get(name), "package", None))}
    if platform not in ("student", *makers):
        raise BadInput(f"package {platform}: no such package; choose from student, {', '.join(makers)}")
    if not out.absolute().parent.is_dir():
        raise BadInput(f"--out {out}: create the folder {out.absolute().parent} first")
    secret = _read_secret(secret_file) + b"\n" if secret_file is not None else make_secret()
    rubric.load(ctx.obj)  # an error in the rubric must surface here, before the platform or students see it
    image = image or f"{ctx.obj.name}:prairielearn"
    data = zip_entries(collect_student(ctx.obj) if platform == "student" else makers[platform](ctx.obj, secret, image))
    write_whole(out, data, private=platform != "student")
    note = "It contains the secret for the hidden inputs: keep it among staff."
    if platform == "student":
        note = "The assignment and the grader, without solution or secret."
    print(f"{out}: {len(data) / 1024:.0f} kB, for {platform}. {note}")


@app.command()
def schema() -> None:
    """Print the JSON schema of a report."""
    import json

    from autograder.grading.report import Report

    print(json.dumps(Report.model_json_schema(mode="serialization"), indent=1))


def _read_secret(path: Path) -> bytes:
    from autograder.grading.secret import read

    return read(path, f"--secret-file {path}", "make a new package")


def main() -> None:
    """Run a command, and turn any error into one line on stderr and an exit status."""
    if sys.platform == "win32":  # the grader needs fork
        sys.exit(_stop(2, "the grader needs Linux: run wsl --install once, then follow the Linux steps"))
    try:
        status = app(standalone_mode=False) or 0
    except BadInput as error:
        status = _stop(2, str(error))
    except Refused as error:
        status = _stop(3, str(error))
    except (KeyboardInterrupt, typer.Abort):
        status = _stop(130, "interrupted; nothing was written")
    except Exception as error:
        from autograder.sandbox.remote.client import SandboxError

        # Usage errors come from typer or click; only they have format_message.
        if hasattr(error, "format_message"):
            status = _stop(2, f"{error.format_message()} (see --help)")
        elif os.environ.get("AUTOGRADER_DEBUG"):
            raise
        else:
            reason = str(error) if isinstance(error, SandboxError) else f"{type(error).__name__}: {error}"
            status = _stop(3, f"the grader failed: {reason} (AUTOGRADER_DEBUG=1 shows the traceback)")
    sys.exit(status)


def _stop(status: int, line: str) -> int:
    print(f"autograder: {' '.join(line.split())}", file=sys.stderr)
    return status
