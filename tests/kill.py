"""Kill the grader at random moments: no process and no folder may be left, and no half of a file.

python -m tests.kill --count 20 [--seed N]
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

from tests.processes import descendants

ROOT = Path(__file__).resolve().parent.parent
PR_SET_CHILD_SUBREAPER = 36
PATIENCE = 5.0  # s in which all has to be gone, on a machine that is not overloaded


def killed(folder: Path, after: float, patience: float) -> list[str]:
    """What is wrong once a grading that writes into ``folder`` was killed ``after`` so many seconds."""
    temporary = folder / "tmp"
    temporary.mkdir()
    (folder / "report.json").write_text('{"score": null}')
    before = descendants(os.getpid())
    command = [sys.executable, "-m", "autograder", "grade", "reference", "--only", "mlp"]
    process = subprocess.Popen(
        [*command, "--json", str(folder / "report.json")],
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
    try:
        json.loads((folder / "report.json").read_text("utf-8"))
    except ValueError:
        wrong.append("half a report")
    return [f"killed after {after:.2f} s: {what}" for what in wrong]


def run(count: int, seed: int, longest: float, patience: float = PATIENCE) -> list[str]:
    """What was wrong after ``count`` moments up to ``longest`` seconds; one falls into each part of that time."""
    # What loses its parent comes here, and is seen.
    libc, rng, wrong = ctypes.CDLL(None), random.Random(seed), []
    libc.prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    try:
        for part in range(count):
            with tempfile.TemporaryDirectory(prefix="kill-") as folder:
                wrong += killed(Path(folder), (part + rng.random()) * longest / count, patience)
    finally:
        libc.prctl(PR_SET_CHILD_SUBREAPER, 0, 0, 0, 0)
    return wrong


def main() -> None:
    parser = argparse.ArgumentParser(description="Kill the grader at random moments")
    parser.add_argument("--count", type=int, default=20)
    parser.add_argument("--seed", type=int, default=secrets.randbelow(1 << 31))
    parser.add_argument("--longest", type=float, default=6.0, help="seconds that a grading takes here, about")
    options = parser.parse_args()
    print(f"--seed {options.seed}", flush=True)
    wrong = run(options.count, options.seed, options.longest)
    print("\n".join([*wrong, f"{len(wrong)} faults at {options.count} moments"]))
    sys.exit(bool(wrong))


if __name__ == "__main__":
    main()
