"""``python -m tests.picture``: draw docs/report.svg, the README's picture of a report, from a new grading.
tests/test_docs.py compares the committed picture with a new one.
"""

from __future__ import annotations

import io
import re
import tempfile
from pathlib import Path

from rich.console import Console
from rich.text import Text

from autograder.assignment import ASSIGNMENT
from autograder.core.atomic import write_whole
from autograder.grading import rubric, suite
from autograder.grading.report import Report
from autograder.render import terminal
from autograder.sandbox.remote.client import Zygote
from autograder.submission.read import read_submission
from tests.conftest import ROOT

PICTURE = ROOT / "docs" / "report.svg"
WIDTH = 84  # columns
SHOWN = ("attention", "block", "parameters")
FONTS = re.compile(r"@font-face \{.*?\}\s*", re.DOTALL)  # fonts from a host on the network, which nobody should need
IDS = re.compile(r"terminal-\d+")


def two_mistakes(folder: Path) -> Path:
    """Write the reference to ``folder``, with the softmax over the wrong axis and an MLP of half the width."""
    changes = {"head.py": ("softmax(scores, dim=-1)", "softmax(scores, dim=1)"), "gpt.py": ("4 * d", "2 * d")}
    folder.mkdir()
    for name in ("gpt.py", "head.py", "paper.py", "verify.py"):
        text = (ROOT / "reference" / name).read_text("utf-8")
        (folder / name).write_text(text.replace(*changes[name]) if name in changes else text, "utf-8")
    return folder


def draw(report: Report) -> str:
    """Return three criteria of ``report`` as SVG."""
    shown = report.model_copy(update={"criteria": tuple(c for c in report.criteria if c.id in SHOWN)})
    printed = io.StringIO()
    terminal.show(shown, Console(width=WIDTH, file=printed, force_terminal=True, color_system="standard"))
    console = Console(record=True, width=WIDTH, file=io.StringIO())
    console.print(Text.from_ansi(printed.getvalue().rstrip("\n")))
    return IDS.sub("report", FONTS.sub("", console.export_svg(title="make grade"))) + "\n"


def main() -> None:
    with tempfile.TemporaryDirectory() as folder, Zygote() as zygote:
        handed_in = read_submission(two_mistakes(Path(folder) / "student"), ASSIGNMENT)
        write_whole(PICTURE, draw(suite.grade(ASSIGNMENT, handed_in, zygote, rubric.load(ASSIGNMENT))))


if __name__ == "__main__":
    main()
