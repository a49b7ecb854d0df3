"""The commands. Exit status: 0 graded, 1 below --fail-under, 2 bad input or usage, 3 the grader itself failed, or
refused to grade where student code is not kept in.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Annotated

import typer

from autograder.course.cli import course
from autograder.files import BadInput, Refused, write_whole

app = typer.Typer(name="autograder", add_completion=False, rich_markup_mode=None, pretty_exceptions_enable=False)
app.add_typer(course)


@app.callback()
def _commands() -> None:
    """Grade a GPT assembled in PyTorch."""


@app.command()
def grade(
    path: Annotated[
        Path, typer.Argument(help="gpt.py or a notebook, or a folder or zip that holds one", show_default=False)
    ],
    json: Annotated[
        Path | None, typer.Option(help="write the report to this file, and what the untrained model writes beside it")
    ] = None,
    html: Annotated[Path | None, typer.Option(help="write the report to this file as a page with pictures")] = None,
    seed: Annotated[
        int | None, typer.Option(help="draw the hidden inputs from this number; --official mixes a new secret in")
    ] = None,
    secret_file: Annotated[Path | None, typer.Option(help="draw them from the secret in this file")] = None,
    only: Annotated[str | None, typer.Option(help="one criterion alone, such as causality")] = None,
    history: Annotated[
        Path | None, typer.Option(help="remember the points in this folder, and say what changed since the last run")
    ] = None,
    fail_under: Annotated[float | None, typer.Option(help="exit with 1 below this score")] = None,
    official: Annotated[
        bool, typer.Option("--official", help="for grades that count: refuse where student code is not kept in")
    ] = False,
    accept: Annotated[
        bool, typer.Option("--accept-weaker-sandbox", help="with --official: grade all the same, and report it")
    ] = False,
) -> None:
    """Grade one submission and print the report."""
    # torch takes longest to load: begin with it, and import the rest meanwhile.
    from autograder.sandbox.process import Zygote

    with Zygote() as zygote:
        from autograder import rubric, submission, suite
        from autograder import secret as secrets

        try:
            handed_in = submission.read(path)
        except submission.BadSubmission as error:
            raise BadInput(str(error)) from None
        rows = rubric.load()
        if accept and not official:
            raise BadInput("--accept-weaker-sandbox goes with --official; without that nothing is refused")
        names = [criterion.id for criterion in rows.criteria]
        if only is not None and only not in names:
            raise BadInput(f"--only {only}: no such criterion; there are {', '.join(names)}")
        if seed is not None and secret_file is not None:
            raise BadInput("--seed and --secret-file: both say what the hidden inputs are drawn from; give one")
        # Read before anything of the submission runs.
        secret = secrets.PUBLIC if seed is None else str(seed).encode()
        if secret_file is not None:
            secret = _secret(secret_file)
        elif official:
            secret = secrets.mix(secrets.draw(), seed)
        for option, file in (("--json", json), ("--html", html)):
            if file is not None and file.is_dir():
                raise BadInput(f"{option} {file}: a folder; name a file in it")
            if file is not None and not file.absolute().parent.is_dir():
                raise BadInput(f"{option} {file}: there is no folder {file.absolute().parent}; make it first")

        from rich.console import Console

        from autograder.render import terminal

        with Console(stderr=True).status("Loading torch ...") as status:
            zygote.ready()
            status.update("Checking ...")
            accepted: tuple[str, ...] = ()
            if official:
                from autograder.sandbox import canary

                accepted = canary.check(zygote, [] if json is None else [json.absolute().parent], accept)
            report = suite.grade(
                handed_in,
                zygote,
                rows,
                secret=secret,
                only=only,
                on_verdict=lambda v: status.update(f"Checked: {v.title}"),
                mode="official" if official else "local",
                accepted=accepted,
            )
    if json is not None:
        write_whole(json, report.to_json())
        for check in report.checks:
            if sample := check.evidence.get("sample"):
                write_whole(json.with_suffix(".before.txt"), f"{sample}\n")
    if html is not None:
        from autograder.render import html as page

        write_whole(html, page.render(report))
    changed = ""
    if history is not None and report.gradable:
        from autograder import progress

        changed = progress.since(progress.last(history, path), report)
        if only is None:  # first: who reads with `less` or `head` may stop the printing
            progress.remember(history, path, report)
    terminal.show(report, Console(highlight=False))
    if changed:
        print(changed)
    if not report.gradable:
        raise SystemExit(3)
    if fail_under is not None and report.score < fail_under:
        raise SystemExit(1)


@app.command()
def submit(
    path: Annotated[Path, typer.Argument(help="the folder with the work")] = Path("student"),
    out: Annotated[Path, typer.Option(help="the zip file to write")] = Path("submission.zip"),
    history: Annotated[Path | None, typer.Option(help="where grade --history keeps the points")] = None,
) -> None:
    """Make the zip file to hand in, and say what is in it."""
    from autograder import handin

    made = handin.pack(path, out, history)
    print(f"{out}, to be uploaded:")
    for name, data in made.files.items():
        print(f"  {name:14} {len(data) / 1024:6.1f} kB")
    for name in made.left_out:
        print(f"  {name:14} left out: it is as it was given out")
    print("\n".join(made.lines))


@app.command()
def lms(
    platform: Annotated[str, typer.Argument(help="whose layout to grade in: gradescope, prairielearn, junit")],
    root: Annotated[Path | None, typer.Option(help="the platform's folder, where it is not the usual one")] = None,
    submission: Annotated[Path | None, typer.Option(help="what is handed in, where it lies elsewhere")] = None,
    out: Annotated[Path | None, typer.Option(help="the platform's result file, where it goes elsewhere")] = None,
) -> None:
    """Grade in the layout of a platform and write the file that it reads."""
    from autograder.lms import _run, names

    if platform not in names():
        raise BadInput(f"lms {platform}: no such platform; there are {', '.join(names())}")
    raise SystemExit(_run.run(platform, root, submission, out))


@app.command()
def package(
    platform: Annotated[str, typer.Argument(help="student, or where it is to be uploaded: gradescope, prairielearn")],
    out: Annotated[Path, typer.Option(help="the zip file to write")],
    secret_file: Annotated[
        Path | None, typer.Option(help="the secret of an earlier package, to draw the same hidden inputs again")
    ] = None,
    image: Annotated[str, typer.Option(help="the image that PrairieLearn is to pull")] = "gpt-assembly:prairielearn",
) -> None:
    """Make what an instructor uploads to a platform, with a new secret in it, or what students get, without one."""
    from autograder import rubric
    from autograder.lms import _pack, get, names

    makers = {name: make for name in names() if (make := getattr(get(name), "package", None))}
    if platform not in ("student", *makers):
        raise BadInput(f"package {platform}: nothing to upload there; there are student, {', '.join(makers)}")
    if not out.absolute().parent.is_dir():
        raise BadInput(f"--out {out}: there is no folder {out.absolute().parent}; make it first")
    secret = _secret(secret_file) + b"\n" if secret_file is not None else _pack.new_secret()
    rubric.load()  # a mistake in it is to be found here, and not by the platform or the students
    data = _pack.zipped(_pack.student() if platform == "student" else makers[platform](secret, image))
    write_whole(out, data, private=platform != "student")
    inside = "The secret of the hidden inputs is in it: keep it to staff."
    if platform == "student":
        inside = "The assignment and the grader, to be handed out; no solution and no secret is in it."
    print(f"{out}: {len(data) / 1024:.0f} kB, for {platform}. {inside}")


@app.command()
def schema() -> None:
    """Print the JSON schema of a report."""
    import json

    from autograder.report import Report

    print(json.dumps(Report.model_json_schema(mode="serialization"), indent=1))


def _secret(path: Path) -> bytes:
    from autograder.secret import read

    return read(path, f"--secret-file {path}", "make the package again")


def main() -> None:
    """Run a command; whatever goes wrong is one line on stderr and an exit status."""
    if sys.platform == "win32":  # there is no fork, on which the grader rests
        sys.exit(
            _stop(2, "Windows alone cannot run this, but the Linux in it can: wsl --install, then all as on Linux")
        )
    try:
        status = app(standalone_mode=False) or 0
    except BadInput as error:
        status = _stop(2, str(error))
    except Refused as error:
        status = _stop(3, str(error))
    except (KeyboardInterrupt, typer.Abort):
        status = _stop(130, "interrupted; nothing was written")
    except Exception as error:
        from autograder.sandbox.process import SandboxError

        # Errors of usage come from typer, or from click under it; only they can say themselves in a line.
        if hasattr(error, "format_message"):
            status = _stop(2, f"{error.format_message()} (--help lists what there is)")
        elif os.environ.get("AUTOGRADER_DEBUG"):
            raise
        else:
            what = str(error) if isinstance(error, SandboxError) else f"{type(error).__name__}: {error}"
            status = _stop(3, f"the grader failed: {what} (AUTOGRADER_DEBUG=1 shows where)")
    sys.exit(status)


def _stop(status: int, line: str) -> int:
    print(f"autograder: {' '.join(line.split())}", file=sys.stderr)
    return status
