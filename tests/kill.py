"""Kill the grader at random moments; it must leave no process, folder or partial file behind.

    python -m tests.kill --count 20 [--seed N]

A batch with two graders and the grading of one submission are killed in turn.
"""

from __future__ import annotations

import argparse
import ctypes
import json
import os
import random
import secrets
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from tests import bank_file
from tests.processes import descendants

ROOT = Path(__file__).resolve().parent.parent
PR_SET_CHILD_SUBREAPER = 36
SUBMISSIONS = 4  # submissions in a batch
PATIENCE = 5.0  # s until everything must be gone, on a machine that is not overloaded


def one(folder: Path) -> list[str]:
    """Return the command that grades one submission and overwrites an existing report."""
    (folder / "report.json").write_text('{"score": null}')
    return ["grade", "reference", "--only", "mlp", "--json", str(folder / "report.json")]


def batch(folder: Path) -> list[str]:
    """Return the command that grades a few submissions."""
    for path in bank_file.paths("variants")[:SUBMISSIONS]:
        place = folder / "in" / path.stem
        place.mkdir(parents=True)
        bank_file.load(path).write(place)
    return ["regrade", str(folder / "in"), "--gradebook", str(folder / "graded"), "--workers", "2"]


def killed(folder: Path, after: float, patience: float, command: list[str]) -> list[str]:
    """Kill a command that writes into ``folder`` ``after`` some seconds; return the faults."""
    temporary = folder / "tmp"
    temporary.mkdir()
    before = descendants(os.getpid())
    process = subprocess.Popen(
        [sys.executable, "-m", "autograder", *command],
        cwd=ROOT,
        env=os.environ | {"TMPDIR": str(temporary)},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    time.sleep(after)
    process.kill()
    process.wait()
    deadline = time.monotonic() + patience
    while True:
        left = descendants(os.getpid()) - before
        wrong = [f"{len(left)} processes"] if left else []
        wrong += [f"{path.name} in the temporary folder" for path in temporary.iterdir()]
        if not wrong or time.monotonic() > deadline:
            break
        time.sleep(0.05)
    for path in [*folder.glob("*.json"), *folder.glob("graded/results/*.json")]:
        try:
            json.loads(path.read_text("utf-8"))
        except ValueError:
            wrong.append(f"half a report in {path.name}")
    return [f"killed after {after:.2f} s: {what}" for what in wrong]


def run(count: int, seed: int, longest: float, patience: float = PATIENCE) -> list[str]:
    """Return the faults after kills at ``count`` moments, one in each equal part of ``longest`` seconds."""
    # Orphaned processes become children of this one, which can list them.
    libc, rng, wrong = ctypes.CDLL(None), random.Random(seed), []
    libc.prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    try:
        for part in range(count):
            with tempfile.TemporaryDirectory(prefix="kill-") as name:
                folder, after = Path(name), (part + rng.random()) * longest / count
                wrong += killed(folder, after, patience, one(folder) if part % 2 else batch(folder))
    finally:
        libc.prctl(PR_SET_CHILD_SUBREAPER, 0, 0, 0, 0)
    return wrong


def main() -> None:
    parser = argparse.ArgumentParser(description="Kill the grader at random moments")
    parser.add_argument("--count", type=int, default=20)
    parser.add_argument("--seed", type=int, default=secrets.randbelow(1 << 31))
    parser.add_argument("--longest", type=float, default=15.0, help="seconds that a batch takes here, about")
    options = parser.parse_args()
    print(f"--seed {options.seed}", flush=True)
    wrong = run(options.count, options.seed, options.longest)
    print("\n".join([*wrong, f"{len(wrong)} faults at {options.count} moments"]))
    sys.exit(bool(wrong))


if __name__ == "__main__":
    main()
