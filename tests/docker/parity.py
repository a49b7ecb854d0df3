"""``python -m tests.docker.parity [FILE ...]``: require the same score of each submission on every channel.

Without arguments, it uses 20 files of the bank at regular intervals: variants, mistakes, attacks and broken ones.
"""

from __future__ import annotations

import contextlib
import sys
import tempfile
from pathlib import Path

from rich.console import Console
from rich.table import Table

from tests import bank_file
from tests.docker import channels

SHARES = {"variants": 5, "mistakes": 8, "attacks": 4, "broken": 3}


def chosen() -> list[Path]:
    """Return 20 files, the same ones on every call."""
    files = []
    for folder, share in SHARES.items():
        there = bank_file.paths(folder)
        files += [there[i * len(there) // share] for i in range(share)]
    return files


def write(file: Path, folder: Path) -> Path:
    """Write the submission of a bank file as a folder that every user can read."""
    place = folder / file.stem
    place.mkdir()
    bank_file.load(file).write(place)
    folder.chmod(0o755)
    return place


def main(files: list[Path]) -> int:
    """Print the table; return 1 if channels differ."""
    table = Table("submission", "make grade", "image", "Gradescope", "PrairieLearn", "", box=None, pad_edge=False)
    differ = 0
    with contextlib.ExitStack() as stack:
        channels.image("grader")
        gradescope = stack.enter_context(channels.gradescope())
        prairielearn = stack.enter_context(channels.prairielearn())
        work = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        grade = (channels.by_command, channels.by_image, gradescope, prairielearn)
        for file in files:
            outcomes = [
                channel(write(file, work)) if n == 0 else channel(work / file.stem) for n, channel in enumerate(grade)
            ]
            command, image, *platforms = outcomes
            same = command.text == image.text and all(o.points == command.points for o in platforms)
            same = same and len({round(o.score, 9) for o in outcomes}) == 1
            differ += not same
            row = [f"{outcome.score:g}" for outcome in outcomes]
            table.add_row(f"{file.parent.name}/{file.stem}", *row, "same" if same else "DIFFERENT")
    Console(width=120).print(table)
    print(f"{len(files)} submissions, each check on 4 channels: {differ} differ")
    return min(differ, 1)


if __name__ == "__main__":
    sys.exit(main([Path(name) for name in sys.argv[1:]] or chosen()))
