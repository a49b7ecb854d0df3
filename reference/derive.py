"""Generate the students' files from the reference solution and the handout's template.

    python -m reference.derive                 write every derivative that is missing or stale
    python -m reference.derive --check         write nothing; exit 1 with one line for each that is missing or stale
    python -m reference.derive --source FILE   write nbgrader's source notebook, with solutions and marking guides

`reference/` is the only source. nbgrader removes the solutions, which are between its markers. `reference/handout.py`
generates the handout and the notebook, `reference/page.py` the handout's HTML page. `reference/derived.sha256`
(readable by sha256sum) records the hash of each derivative as last written. A file with any other content was edited
by hand: it is never overwritten, and the run exits with status 2 before writing anything.
"""

from __future__ import annotations

import argparse
import ast
import hashlib
import re
import sys
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial
from pathlib import Path
from typing import Any, Literal

from autograder.core.atomic import write_whole
from autograder.core.errors import BadInput
from reference import handout
from reference.handout import KERNEL
from reference.pictures import PICTURES

ROOT = Path(__file__).resolve().parent.parent
RECORD = "reference/derived.sha256"

BEGIN, END = "BEGIN SOLUTION", "END SOLUTION"
RECORD_LINE = re.compile(r"([0-9a-f]{64}) [ *](\S.*)")

State = Literal["current", "missing", "stale", "edited"]


class DeriveError(Exception):
    """No derivative can be written; each line of the message gives a cause and a fix."""


class SourceError(DeriveError):
    """A source cannot be derived from; the caller adds its name to the message."""


@dataclass(frozen=True)
class Derivative:
    """One generated file. Paths are relative to the root, with forward slashes."""

    source: str
    target: str
    make: Callable[..., str]  # takes the texts of the source and of the other sources
    other_sources: tuple[str, ...] = ()


@dataclass(frozen=True)
class Finding:
    """A derivative, its expected content, and the state of the file on disk."""

    derivative: Derivative
    expected: bytes
    state: State


def hash_bytes(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


# --- from sources to the text of a derivative ---


def make_python_stub(text: str) -> str:
    """Replace each solution in a Python source by nbgrader's stub, and change nothing else. Raises SourceError."""
    check_markers(text)
    jupytext, clear_solutions = load_tools()
    # Without cell markers the percent format reads a whole file as one code cell. The option keeps jupytext from
    # changing lines that look like IPython commands.
    notebook = jupytext.reads(text, fmt={"extension": ".py", "format_name": "percent", "comment_magics": False})
    if [cell.cell_type for cell in notebook.cells] != ["code"] or notebook.cells[0].source + "\n" != text:
        raise SourceError("does not survive jupytext unchanged: no '# %%' cell markers, and one newline at the end")
    # A .py file has none of the metadata that nbgrader would enforce.
    notebook, _ = clear_solutions(enforce_metadata=False).preprocess(notebook, {})
    stub: str = notebook.cells[0].source + "\n"
    try:
        ast.parse(stub)
    except SyntaxError as error:
        raise SourceError(f"leaves invalid Python at line {error.lineno} of the derivative: {error.msg}") from error
    return stub


def make_markdown_stub(text: str) -> str:
    """Replace each solution in a Markdown source by nbgrader's answer line. Raises SourceError."""
    check_markers(text)
    _, clear_solutions = load_tools()
    from nbformat.v4 import new_markdown_cell, new_notebook

    notebook = new_notebook(cells=[new_markdown_cell(text)], metadata={"kernelspec": KERNEL})
    notebook, _ = clear_solutions(enforce_metadata=False).preprocess(notebook, {})
    stub: str = notebook.cells[0].source
    return stub.rstrip("\n") + "\n"


def check_markers(text: str) -> None:
    """Raise SourceError for unpaired markers, some of which nbgrader would drop silently."""
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
    """Import jupytext and nbgrader's ClearSolutions, late: they take seconds, and only developers have them."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        import jupytext
        from nbgrader.preprocessors import ClearSolutions
    return jupytext, ClearSolutions


@lru_cache(maxsize=2)
def make_from_texts(make: Callable[[Mapping[str, str]], str], *texts: str) -> str:
    """Call ``make`` with the texts by name; cached, since each notebook has two copies."""
    return make(dict(zip(handout.TEXTS, texts, strict=True)))


def derive_from_handout(target: str, make: Callable[[Mapping[str, str]], str]) -> Derivative:
    """Return a derivative of the handout's template and of the files it includes."""
    template, *others = (f"reference/{name}" for name in handout.TEXTS)
    return Derivative(template, target, partial(make_from_texts, make), tuple(others))


DERIVATIVES: tuple[Derivative, ...] = (
    Derivative("reference/head.py", "student/head.py", make_python_stub),
    Derivative("reference/gpt.py", "student/gpt.py", make_python_stub),
    Derivative("reference/paper.py", "student/paper.py", make_python_stub),
    Derivative("reference/verify.py", "student/verify.py", make_python_stub),
    Derivative("reference/answers.md", "student/answers.md", make_markdown_stub),
    derive_from_handout("student/README.md", handout.make_readme),
    derive_from_handout("student/README.html", handout.make_readme_page),
    derive_from_handout("student/step-05.ipynb", handout.make_student_notebook),
    *(Derivative("reference/measured.json", f"student/pictures/{name}.svg", draw) for name, draw in PICTURES.items()),
    # LMS packages leave out student/, so the grader has copies: the head for submissions without one, and the stubs to
    # detect unedited files and empty answers.
    Derivative("reference/head.py", "autograder/assignment/handed_out/head.py", make_python_stub),
    Derivative("reference/gpt.py", "autograder/assignment/handed_out/stub/gpt.py", make_python_stub),
    Derivative("reference/paper.py", "autograder/assignment/handed_out/stub/paper.py", make_python_stub),
    Derivative("reference/verify.py", "autograder/assignment/handed_out/stub/verify.py", make_python_stub),
    Derivative("reference/answers.md", "autograder/assignment/handed_out/stub/answers.md", make_markdown_stub),
    derive_from_handout("autograder/assignment/handed_out/stub/step-05.ipynb", handout.make_student_notebook),
)


# --- the record of written files ---


def read_record(root: Path) -> dict[str, str]:
    """Return {target: hash}, empty if there is no record yet. Raises DeriveError."""
    try:
        text = (root / RECORD).read_text(encoding="utf-8")
    except FileNotFoundError:
        return {}
    record = {}
    for number, line in enumerate(text.splitlines(), start=1):
        match = RECORD_LINE.fullmatch(line)
        if match is None:
            raise DeriveError(f"{RECORD}, line {number}: not in sha256sum format; restore the file from git")
        record[match[2]] = match[1]
    return record


def format_record(findings: Iterable[Finding]) -> bytes:
    return "".join(f"{hash_bytes(f.expected)}  {f.derivative.target}\n" for f in findings).encode()


# --- compare and write ---


def read_source(path: Path, name: str) -> str:
    try:
        text = path.read_bytes().decode("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise DeriveError(f"{name}: cannot be read ({error})") from error
    if "\r" in text:
        raise DeriveError(f"{name}: has CR line endings; save it with LF")
    return text


def read_target(path: Path) -> bytes | None:
    try:
        return path.read_bytes()
    except FileNotFoundError:
        return None


def classify(actual: bytes | None, expected: bytes, recorded: str | None) -> State:
    """Return the state of a file: edited, unless it equals the new derivative or the recorded one."""
    if actual is None:
        return "missing"
    if actual == expected:
        return "current"
    return "stale" if hash_bytes(actual) == recorded else "edited"


def make_text(root: Path, derivative: Derivative) -> str:
    """Return the text of one derivative. Raises DeriveError, with the source's name."""
    texts = [read_source(root / name, name) for name in (derivative.source, *derivative.other_sources)]
    try:
        return derivative.make(*texts)
    except (SourceError, handout.TextError) as error:
        raise DeriveError(f"{derivative.source}: {error}") from error
    except ImportError as error:
        raise DeriveError(f"{error.name} cannot be imported; `make derive` installs it") from None


def make_source_notebook(root: Path = ROOT) -> str:
    """Return nbgrader's source notebook as JSON, with solutions and marking guides. Raises DeriveError."""
    return make_text(root, derive_from_handout("", handout.make_source_notebook))


def inspect(root: Path, derivatives: Sequence[Derivative] = DERIVATIVES) -> list[Finding]:
    """Derive everything in memory and compare it with the files under root. Raises DeriveError."""
    record = read_record(root)
    findings = []
    for derivative in derivatives:
        expected = make_text(root, derivative).encode("utf-8")
        actual = read_target(root / derivative.target)
        findings.append(Finding(derivative, expected, classify(actual, expected, record.get(derivative.target))))
    return findings


def write(path: Path, content: str | bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    write_whole(path, content)


def describe_edits(findings: Iterable[Finding]) -> list[str]:
    return [
        f"{f.derivative.target}: edited by hand, not overwritten. Move your change to {f.derivative.source} and delete "
        f"{f.derivative.target} (or restore it with git), then run this again"
        for f in findings
        if f.state == "edited"
    ]


def check(root: Path, derivatives: Sequence[Derivative] = DERIVATIVES) -> list[str]:
    """Return one line for each file that is missing, stale or edited. Raises DeriveError."""
    findings = inspect(root, derivatives)
    lines = describe_edits(findings)
    for f in findings:
        if f.state in ("missing", "stale"):
            lines.append(f"{f.derivative.target}: {f.state}; `make derive` generates it from {f.derivative.source}")
    if not lines and read_target(root / RECORD) != format_record(findings):
        lines.append(f"{RECORD}: stale; `make derive` writes it")
    return lines


def derive(root: Path, derivatives: Sequence[Derivative] = DERIVATIVES) -> list[str]:
    """Write missing and stale files and return their targets. Raises DeriveError before writing if any was edited."""
    findings = inspect(root, derivatives)
    edited = describe_edits(findings)
    if edited:
        raise DeriveError("\n".join(edited))
    written = []
    for f in findings:
        if f.state != "current":
            write(root / f.derivative.target, f.expected)
            written.append(f.derivative.target)
    # The record comes last: if the run is killed before, the files already written count as current.
    record = format_record(findings)
    if read_target(root / RECORD) != record:
        write_whole(root / RECORD, record)
        written.append(RECORD)
    return written


def main(arguments: Sequence[str] | None = None, root: Path = ROOT) -> int:
    parser = argparse.ArgumentParser(description="Generate the students' files from reference/.")
    parser.add_argument(
        "--check", action="store_true", help="write nothing; exit 1 if a file is missing, stale or edited"
    )
    parser.add_argument("--source", type=Path, metavar="FILE", help="write only nbgrader's source notebook to FILE")
    options = parser.parse_args(arguments)
    try:
        if options.source:
            write(options.source, make_source_notebook(root))
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
