"""Make what students get from what this folder holds.

    python -m reference.derive                 write every derivative that is missing or out of date
    python -m reference.derive --check         write nothing; exit 1 with one line for each that is not as it should be
    python -m reference.derive --source FILE   write nbgrader's source notebook, with solutions and marking guides

`reference/` is the only source. Its solutions stand between nbgrader's markers, and nbgrader itself takes them out.
`reference/handout.py` makes the handout and the notebook, `reference/page.py` the handout's page.
`reference/derived.sha256` (readable by sha256sum) has the hash of each derivative as last written here: a file with
any other content was edited by someone, is never overwritten, and stops the whole run with exit status 2.
"""

from __future__ import annotations

import argparse
import ast
import hashlib
import os
import re
import sys
import tempfile
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial
from pathlib import Path
from typing import Any, Literal

from autograder.core.errors import BadInput
from reference import handout
from reference.handout import KERNEL

ROOT = Path(__file__).resolve().parent.parent
RECORD = "reference/derived.sha256"

BEGIN, END = "BEGIN SOLUTION", "END SOLUTION"
RECORD_LINE = re.compile(r"([0-9a-f]{64}) [ *](\S.*)")

State = Literal["current", "missing", "stale", "edited"]


class DeriveError(Exception):
    """Nothing can be derived; each line of the message says why and what to do."""


class SourceError(DeriveError):
    """One source cannot be derived from. Raised without its name, which is put in front by whoever knows it."""


@dataclass(frozen=True)
class Derivative:
    """One file made for students. Paths are relative to the root, with forward slashes."""

    source: str
    target: str
    make: Callable[..., str]  # takes the text of the source, and those of the further ones
    also: tuple[str, ...] = ()


@dataclass(frozen=True)
class Finding:
    """A derivative, what it should hold, and how the file that is there compares."""

    derivative: Derivative
    wanted: bytes
    state: State


def sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


# From a source to the text of its derivative.


def python_stub(text: str) -> str:
    """The Python source with nbgrader's stub in place of each solution, and not another byte changed."""
    check_markers(text)
    jupytext, clear_solutions = load_tools()
    # Without cell markers the percent format reads a whole file as one code cell. The option keeps jupytext from
    # changing lines that look like IPython commands.
    notebook = jupytext.reads(text, fmt={"extension": ".py", "format_name": "percent", "comment_magics": False})
    if [cell.cell_type for cell in notebook.cells] != ["code"] or notebook.cells[0].source + "\n" != text:
        raise SourceError("does not survive jupytext unchanged: no '# %%' cell markers, and one newline at the end")
    # The metadata that nbgrader would enforce is that of notebooks made for its own pipeline; a .py file has none.
    notebook, _ = clear_solutions(enforce_metadata=False).preprocess(notebook, {})
    stub: str = notebook.cells[0].source + "\n"
    try:
        ast.parse(stub)
    except SyntaxError as error:
        raise SourceError(f"leaves invalid Python at line {error.lineno} of the derivative: {error.msg}") from error
    return stub


def markdown_stub(text: str) -> str:
    """The Markdown source with nbgrader's line for an answer in place of each solution."""
    check_markers(text)
    _, clear_solutions = load_tools()
    from nbformat.v4 import new_markdown_cell, new_notebook

    notebook = new_notebook(cells=[new_markdown_cell(text)], metadata={"kernelspec": KERNEL})
    notebook, _ = clear_solutions(enforce_metadata=False).preprocess(notebook, {})
    stub: str = notebook.cells[0].source
    return stub.rstrip("\n") + "\n"


def check_markers(text: str) -> None:
    """Refuse markers that do not come in pairs: of these, nbgrader reports some at length and drops others silently."""
    opened = 0
    for number, line in enumerate(text.splitlines(), start=1):
        if BEGIN in line:
            if opened:
                raise SourceError(f"line {number}: '{BEGIN}' inside the region that begins at line {opened}")
            opened = number
        elif END in line:
            if not opened:
                raise SourceError(f"line {number}: '{END}' without '{BEGIN}' before it")
            opened = 0
    if opened:
        raise SourceError(f"line {opened}: '{BEGIN}' without '{END}' after it")


def load_tools() -> tuple[Any, Any]:
    """jupytext and nbgrader's ClearSolutions. Imported late: they take seconds, and only developers have them."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        import jupytext
        from nbgrader.preprocessors import ClearSolutions
    return jupytext, ClearSolutions


@lru_cache(maxsize=2)
def from_texts(make: Callable[[Mapping[str, str]], str], *texts: str) -> str:
    return make(dict(zip(handout.TEXTS, texts, strict=True)))


def handed_out(target: str, make: Callable[[Mapping[str, str]], str]) -> Derivative:
    """A derivative of the handout's text and of what it draws on."""
    main, *also = (f"reference/{name}" for name in handout.TEXTS)
    return Derivative(main, target, partial(from_texts, make), tuple(also))


DERIVATIVES: tuple[Derivative, ...] = (
    Derivative("reference/head.py", "student/head.py", python_stub),
    Derivative("reference/gpt.py", "student/gpt.py", python_stub),
    Derivative("reference/paper.py", "student/paper.py", python_stub),
    Derivative("reference/answers.md", "student/answers.md", markdown_stub),
    handed_out("student/README.md", handout.readme),
    handed_out("student/README.html", handout.readme_page),
    handed_out("student/step-05.ipynb", handout.student_notebook),
    Derivative(
        "reference/head.py", "autograder/assignment/handed_out/head.py", python_stub
    ),  # for submissions without one
    # What was never edited is told from what was by these, also where student/ is not shipped.
    Derivative("reference/gpt.py", "autograder/assignment/handed_out/stub/gpt.py", python_stub),
    Derivative("reference/paper.py", "autograder/assignment/handed_out/stub/paper.py", python_stub),
    handed_out("autograder/assignment/handed_out/stub/step-05.ipynb", handout.student_notebook),
)


# The record of what was written.


def read_record(root: Path) -> dict[str, str]:
    """{target: hash}; empty when there is no record yet."""
    try:
        text = (root / RECORD).read_text(encoding="utf-8")
    except FileNotFoundError:
        return {}
    record = {}
    for number, line in enumerate(text.splitlines(), start=1):
        match = RECORD_LINE.fullmatch(line)
        if match is None:
            raise DeriveError(f"{RECORD}, line {number}: not a line of sha256sum; restore the file from git")
        record[match[2]] = match[1]
    return record


def format_record(findings: Iterable[Finding]) -> bytes:
    return "".join(f"{sha256(f.wanted)}  {f.derivative.target}\n" for f in findings).encode()


# Comparing and writing.


def read_source(path: Path, name: str) -> str:
    try:
        text = path.read_bytes().decode("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise DeriveError(f"{name}: cannot be read ({error})") from error
    if "\r" in text:
        raise DeriveError(f"{name}: has CR line ends; save it with LF")
    return text


def read_target(path: Path) -> bytes | None:
    try:
        return path.read_bytes()
    except FileNotFoundError:
        return None


def state_of(present: bytes | None, wanted: bytes, recorded: str | None) -> State:
    """How a file compares. It counts as edited unless it is what this script makes now or was seen to make last."""
    if present is None:
        return "missing"
    if present == wanted:
        return "current"
    return "stale" if sha256(present) == recorded else "edited"


def made(root: Path, derivative: Derivative) -> str:
    """The text of one derivative. Raises DeriveError, with the source's name."""
    texts = [read_source(root / name, name) for name in (derivative.source, *derivative.also)]
    try:
        return derivative.make(*texts)
    except (SourceError, handout.TextError) as error:
        raise DeriveError(f"{derivative.source}: {error}") from error
    except ImportError as error:
        raise DeriveError(f"{error.name} cannot be imported; `make derive` installs what this needs") from None


def source_notebook(root: Path = ROOT) -> str:
    """nbgrader's source notebook as JSON text: the student's, with solutions and marking guides. Raises DeriveError."""
    return made(root, handed_out("", handout.source_notebook))


def inspect(root: Path, derivatives: Sequence[Derivative] = DERIVATIVES) -> list[Finding]:
    """Derive everything in memory and compare it with the files below root. Writes nothing."""
    record = read_record(root)
    findings = []
    for derivative in derivatives:
        wanted = made(root, derivative).encode("utf-8")
        present = read_target(root / derivative.target)
        findings.append(Finding(derivative, wanted, state_of(present, wanted, record.get(derivative.target))))
    return findings


def write_whole(path: Path, data: bytes) -> None:
    """Write through a temporary file, so that a kill leaves the old file or the new one, never a part."""
    path.parent.mkdir(parents=True, exist_ok=True)
    descriptor, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        os.chmod(temporary, path.stat().st_mode & 0o777 if path.exists() else 0o644)
        os.replace(temporary, path)
    except BaseException:
        os.unlink(temporary)
        raise


def edited_lines(findings: Iterable[Finding]) -> list[str]:
    return [
        f"{f.derivative.target}: edited by hand, not overwritten. Move your change to {f.derivative.source} and delete "
        f"{f.derivative.target} (or take it back with git), then run this again"
        for f in findings
        if f.state == "edited"
    ]


def check(root: Path, derivatives: Sequence[Derivative] = DERIVATIVES) -> list[str]:
    """One line for each file that is not as it should be; nothing is written."""
    findings = inspect(root, derivatives)
    lines = edited_lines(findings)
    for f in findings:
        if f.state in ("missing", "stale"):
            lines.append(f"{f.derivative.target}: {f.state}; `make derive` makes it from {f.derivative.source}")
    if not lines and read_target(root / RECORD) != format_record(findings):
        lines.append(f"{RECORD}: stale; `make derive` writes it")
    return lines


def derive(root: Path, derivatives: Sequence[Derivative] = DERIVATIVES) -> list[str]:
    """Write what is missing or stale and return its targets. Raises before any write when a file was edited."""
    findings = inspect(root, derivatives)
    edited = edited_lines(findings)
    if edited:
        raise DeriveError("\n".join(edited))
    written = []
    for f in findings:
        if f.state != "current":
            write_whole(root / f.derivative.target, f.wanted)
            written.append(f.derivative.target)
    # The record comes last: after a kill in between, the files written so far are found to be current.
    record = format_record(findings)
    if read_target(root / RECORD) != record:
        write_whole(root / RECORD, record)
        written.append(RECORD)
    return written


def main(arguments: Sequence[str] | None = None, root: Path = ROOT) -> int:
    parser = argparse.ArgumentParser(description="Derive the students' files from reference/.")
    parser.add_argument("--check", action="store_true", help="write nothing; exit 1 if a file is not as it should be")
    parser.add_argument("--source", type=Path, metavar="FILE", help="write only nbgrader's source notebook, to FILE")
    options = parser.parse_args(arguments)
    try:
        if options.source:
            write_whole(options.source, source_notebook(root).encode("utf-8"))
            return 0
        if options.check:
            lines = check(root)
            print("\n".join(lines) or "All derived files are current.")
            return 1 if lines else 0
        written = derive(root)
    except (DeriveError, BadInput, OSError) as error:
        print(error, file=sys.stderr)
        return 2
    print("\n".join(f"wrote {target}" for target in written) or "All derived files are current.")
    return 0


if __name__ == "__main__":
    sys.exit(main())
