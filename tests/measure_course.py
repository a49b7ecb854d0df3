"""``python -m tests.measure_course N [--lose] [--same]``: measure the cost of grading N submissions.

Each has its own name and, unless ``--same``, its own comment, so that each is graded. ``--lose`` kills one of
the graders half-way. It prints wall time, CPU time per submission, peak memory of all processes together (shared
pages counted once) and of the main process after 50 results and at the end, and a comparison of the scores with the
bank's.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from tests import bank_file

BANK = bank_file.paths("variants", "mistakes")


def course(folder: Path, number: int, same: bool) -> dict[str, set[str]]:
    """Write ``number`` submissions; return the checks that each must lose."""
    files = [bank_file.load(path) for path in BANK]
    lost = {}
    for n in range(number):
        file = files[n * 7 % len(files)]  # so that all kinds occur from the start
        own = folder / f"student{n:04d}"
        own.mkdir(parents=True)
        file.write(own)
        if not same:
            with (own / "gpt.py").open("ab") as stream:
                stream.write(f"\n# {n}\n".encode())
        lost[own.name] = set(file.loses)
    return lost


def tree(pid: int) -> list[int]:
    """Return ``pid`` and all its descendants."""
    children: dict[int, list[int]] = {}
    for entry in os.scandir("/proc"):
        if entry.name.isdigit():
            try:
                fields = Path(entry.path, "stat").read_text().rpartition(")")[2].split()
            except OSError:
                continue
            children.setdefault(int(fields[1]), []).append(int(entry.name))
    found = [pid]
    for one in found:
        found += children.get(one, [])
    return found


def memory(pid: int, kind: str = "Pss") -> int:
    """Return the kB of a process, counting shared pages in part ("Pss") or in full ("Rss")."""
    try:
        lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
    except OSError:
        return 0
    return next((int(line.split()[1]) for line in lines if line.startswith(f"{kind}:")), 0)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("number", type=int)
    parser.add_argument("--lose", action="store_true")
    parser.add_argument("--same", action="store_true")
    parser.add_argument("--workers", default="0")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        source, out = Path(name, "handed-in"), Path(name, "out")
        lost = course(source, options.number, options.same)
        distinct = min(options.number, len(BANK)) if options.same else options.number
        started, peak, killed = time.monotonic(), 0, not options.lose
        own: dict[str, int] = {}
        command = [sys.executable, "-m", "autograder", "regrade", str(source), "--gradebook", str(out)]
        process = subprocess.Popen([*command, "--workers", options.workers])
        while process.poll() is None:
            pids = tree(process.pid)
            peak = max(peak, sum(map(memory, pids)))
            ready = len(list((out / "results").glob("*.json"))) if out.exists() else 0
            if now := memory(process.pid):
                when = "at the end" if len(pids) == 1 else "while grading" if ready >= 50 else "for the first 50"
                own[when] = max(now, own.get(when, 0))
            if not killed and ready > distinct // 2:
                # Pool workers run this program too, as children of the main process.
                workers = [p for p in pids if b"regrade" in _command(p) and p != process.pid]
                os.kill(workers[0], signal.SIGKILL)
                killed = True
                print(f"killed a grader at {ready} results")
            time.sleep(1)
        wall = time.monotonic() - started
        used = resource.getrusage(resource.RUSAGE_CHILDREN)
        cpu = used.ru_utime + used.ru_stime
        results = [json.loads(path.read_text()) for path in (out / "results").iterdir()]
        inside = sum(report["timing"]["cpu"] for report in results)
        book = sqlite3.connect(out / "gradebook.sqlite")
        wrong = []
        for student, checks in lost.items():
            found = book.execute(
                "SELECT verdict.id FROM verdict JOIN entry ON entry.report = verdict.report JOIN student ON"
                " student.id = student WHERE name = ? AND status != 'passed' AND NOT bonus",
                (student,),
            )
            if differs := {row[0] for row in found} ^ checks:
                wrong.append(f"{student}: {', '.join(sorted(differs))}")
        print(f"exit status {process.returncode}; {len(results)} graded for {len(lost)} students")
        print(f"wall {wall:.0f} s, {wall / len(results):.2f} s each; CPU {cpu / len(results):.2f} s each,")
        print(f"  {inside / len(results):.2f} s of it in the students' processes")
        print(f"memory: all at most {peak / 1024:.0f} MB; the main process at most", end="")
        print("".join(f" {most / 1024:.1f} MB {when};" for when, most in own.items()))
        print(f"{len(wrong)} students whose checks are not those that the bank lists")
        print("\n".join(wrong[:20]))


def _command(pid: int) -> bytes:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return b""


if __name__ == "__main__":
    main()
