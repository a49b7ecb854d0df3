"""``python -m tests.picture``: docs/report.svg, the picture of a report in the README, from a grading just made.

tests/test_docs.py holds the committed picture against a new one.
"""

from __future__ import annotations

import io
import re
from pathlib import Path

from rich.console import Console

from autograder import rubric, submission, suite
from autograder.files import write_whole
from autograder.render import terminal
from autograder.report import Report
from autograder.sandbox.process import Zygote
from tests.conftest import ROOT

PICTURE = ROOT / "docs" / "report.svg"
WIDTH = 84  # columns
SHOWN = ("attention", "block", "parameters")
FONTS = re.compile(r"@font-face \{.*?\}\s*", re.DOTALL)  # from a host on the net: nobody should need it
IDS = re.compile(r"terminal-\d+")


def two_mistakes(folder: Path) -> Path:
    """The reference with the softmax over the wrong axis and an MLP of half the width, written to ``folder``."""
    changes = {
        "head.py": ("F.softmax(scores, dim=-1)", "F.softmax(scores, dim=1)"),
        "gpt.py": ("4 * d", "2 * d"),
        "paper.py": ("", ""),
    }
    folder.mkdir()
    for name, (right, wrong) in changes.items():
        text = (ROOT / "reference" / name).read_text("utf-8")
        (folder / name).write_text(text.replace(right, wrong) if right else text, "utf-8")
    return folder


def draw(report: Report) -> str:
    """Three criteria of ``report`` as SVG."""
    shown = report.model_copy(update={"criteria": tuple(c for c in report.criteria if c.id in SHOWN)})
    console = Console(record=True, width=WIDTH, file=io.StringIO(), force_terminal=True, color_system="truecolor")
    terminal.show(shown, console)
    text = console.file.getvalue()  # type: ignore[attr-defined]
    console = Console(record=True, width=WIDTH, file=io.StringIO(), force_terminal=True, color_system="truecolor")
    from rich.text import Text

    console.print(Text.from_ansi(text.rstrip("\n")))
    return IDS.sub("report", FONTS.sub("", console.export_svg(title="make grade"))) + "\n"


def main() -> None:
    import tempfile

    with tempfile.TemporaryDirectory() as folder, Zygote() as zygote:
        handed_in = submission.read(two_mistakes(Path(folder) / "student"))
        write_whole(PICTURE, draw(suite.grade(handed_in, zygote, rubric.load())))


if __name__ == "__main__":
    main()
