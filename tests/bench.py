"""``make bench``: compare the cost of grading, as ratios within one run, with the budget below.

    python -m tests.bench [--quick] [--only NAME ...]

Times on a shared machine drift, so related quantities are measured in turns and given as a ratio; the seconds beside
each ratio are for orientation only.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console
from rich.table import Table

from autograder.assignment import ASSIGNMENT
from autograder.grading import rubric, suite
from autograder.sandbox.remote.client import Zygote
from autograder.sandbox.remote.student_code import StudentCode
from autograder.submission.read import read_submission
from tests import bank_file
from tests.conftest import ROOT
from tests.measure_course import memory

REFERENCE = ROOT / "reference"
IMPORT = [sys.executable, "-c", "import torch"]
GRADE = [sys.executable, "-m", "autograder", "grade", "reference"]
PLAIN = [sys.executable, "-m", "tests.plain"]
ROWS = rubric.load(ASSIGNMENT)


@dataclass(frozen=True)
class Limit:
    """One line of the budget: the measured value must not exceed ``most``."""

    name: str
    most: float
    unit: str


# the budget assumes two cores and a warm environment
BUDGET = {
    "single": Limit("grade reference: wall less 1 s, to import torch", 1.3, "x"),
    "batch": Limit("CPU of a submission in a batch, after start", 1.0, "s"),
    "memory": Limit("growth of the trusted process to the last submission", 1.0, "MB"),
}
Figures = dict[str, float]  # results of a section; the entry "budget" holds those that have a budget


def timed(command: list[str], folder: Path = ROOT) -> tuple[float, float]:
    """Return the wall and CPU seconds of a command in ``folder`` and of its children."""
    before, started = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    environment = os.environ | {"OMP_NUM_THREADS": "1"}
    subprocess.run(command, cwd=folder, env=environment, capture_output=True, check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return time.perf_counter() - started, cpu


def in_turns(times: int, *commands: list[str]) -> list[tuple[float, float]]:
    """Return the median wall and CPU seconds of each command, run in turns."""
    rounds = [[timed(command) for command in commands] for _ in range(times)]
    return [
        (statistics.median(w for w, _ in runs), statistics.median(c for _, c in runs))
        for runs in zip(*rounds, strict=True)
    ]


def single(quick: bool) -> Figures:
    """Compare the command `grade reference` with importing torch alone."""
    (bare, bare_cpu), (wall, cpu) = in_turns(3 if quick else 7, IMPORT, GRADE)
    return {
        "import torch, wall s": bare,
        "grade reference, wall s": wall,
        "wall ratio": wall / bare,
        "CPU ratio": cpu / bare_cpu,
        "budget": (wall - 1) / bare,
    }


def spent(zygote: Zygote) -> float:
    """Return the CPU seconds of this process, the zygote, the oracle and all reaped forks."""
    fields = Path(f"/proc/{zygote.pid}/stat").read_text().rpartition(")")[2].split()
    return (
        time.process_time()
        + zygote.oracle(ASSIGNMENT.oracle, str(ASSIGNMENT.root)).cpu
        + sum(map(int, fields[11:15])) / os.sysconf("SC_CLK_TCK")
    )


def each(zygote: Zygote, times: int, work: Callable[[], object]) -> float:
    """Return the mean CPU seconds of ``work`` over several repetitions."""
    before = spent(zygote)
    for _ in range(times):
        work()
    return (spent(zygote) - before) / times


def batch(quick: bool) -> Figures:
    """Grade the reference, and a mixture of the bank, one after another with one zygote."""
    _, bare_cpu = timed(IMPORT)
    files = bank_file.paths("variants", "mistakes")
    mixture = files[:: len(files) // (6 if quick else 20)]
    with Zygote() as zygote, tempfile.TemporaryDirectory() as folder:
        suite.grade(ASSIGNMENT, read_submission(REFERENCE, ASSIGNMENT), zygote, ROWS)
        one = each(
            zygote,
            3 if quick else 10,
            lambda: suite.grade(ASSIGNMENT, read_submission(REFERENCE, ASSIGNMENT), zygote, ROWS),
        )
        handed_in = iter([bank_file.load(file).write(made(Path(folder, file.stem))) for file in mixture])
        mixed = each(
            zygote,
            len(mixture),
            lambda: suite.grade(ASSIGNMENT, read_submission(next(handed_in), ASSIGNMENT), zygote, ROWS),
        )
    return {
        "import torch, CPU s": bare_cpu,
        "reference, CPU s": one,
        "reference, to import torch": one / bare_cpu,
        f"{len(mixture)} of the bank, CPU s each": mixed,
        "budget": one,
    }


def made(folder: Path) -> Path:
    folder.mkdir()
    return folder


def workers(quick: bool) -> Figures:
    """Run `regrade` on a folder of submissions, with one and with two graders."""
    files = bank_file.paths("variants")[: 4 if quick else 16]
    found = {}
    for count in (1, 2):
        with tempfile.TemporaryDirectory() as name:
            source = made(Path(name, "in"))
            for file in files:
                bank_file.load(file).write(made(source / file.stem))
            command = [sys.executable, "-m", "autograder", "regrade", str(source), "--gradebook", f"{name}/out"]
            wall, cpu = timed([*command, "--workers", str(count)])
            found[f"{count} graders, submissions a minute"] = 60 * len(files) / wall
            found[f"{count} graders, CPU s each, start included"] = cpu / len(files)
    return found


def growth(quick: bool) -> Figures:
    """Measure the memory of the trusted process while it grades one criterion of each of many submissions."""
    last = 100 if quick else 1000
    # Use a separate process: memory that other sections left in this one would look like growth.
    with ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as pool:
        seen = pool.submit(memory_at, 50, last).result()
    grown = (seen[last] - seen[50]) / 1024
    return {"at the 50th, MB": seen[50] / 1024, f"grown to submission {last}, MB": grown, "budget": grown}


def memory_at(*numbers: int) -> dict[int, int]:
    """Return the kB of this process after each number of submissions."""
    seen = {}
    with Zygote() as zygote:
        handed_in = read_submission(REFERENCE, ASSIGNMENT)
        for number in range(1, max(numbers) + 1):
            suite.grade(ASSIGNMENT, handed_in, zygote, ROWS, only="paper")
            if number in numbers:
                seen[number] = memory(os.getpid(), "Rss")  # a process's share depends on other processes
    return seen


def checks(quick: bool) -> Figures:
    """Measure the CPU time of each check of the reference, in ms; shared work counts for the first check."""
    total: Counter[str] = Counter()
    times = 2 if quick else 8
    with Zygote() as zygote:
        suite.grade(ASSIGNMENT, read_submission(REFERENCE, ASSIGNMENT), zygote, ROWS)
        for _ in range(times):
            total.update(suite.grade(ASSIGNMENT, read_submission(REFERENCE, ASSIGNMENT), zygote, ROWS).timing.checks)
    return {name: 1000 * seconds / times for name, seconds in total.items()}


def layers(quick: bool) -> Figures:
    """Measure the overhead per submission, in ms: forking a process, confining it, and asking it a question."""
    times = 20 if quick else 100
    found = {}
    for name, without in (("confinement", ()), ("nothing", ("landlock", "seccomp", "uid"))):
        with Zygote(without=without) as zygote:
            zygote.fork("student").close()
            until = []

            def process(zygote: Zygote = zygote, until: list[float] = until) -> None:
                forked = zygote.fork("student")
                until.append(forked.cpu)
                forked.close()

            whole = each(zygote, times, process)
            found[f"a process, from fork to reap, with {name}, CPU"] = 1000 * whole
            found[f"of it inside, until it waits for a question, with {name}, CPU"] = 1000 * statistics.mean(until)
    with Zygote() as zygote:
        student = StudentCode(zygote, read_submission(REFERENCE, ASSIGNMENT).files, ASSIGNMENT.contract)
        mlp = student.build("MLP", {"d": 4})
        started = time.perf_counter()
        for _ in range(10 * times):
            mlp.pull()
        found["a question and its answer, wall"] = 100 * (time.perf_counter() - started) / times
        student.close()
    return found


def plain(quick: bool) -> Figures:
    """Run the same checks with the student's code in the checks' own process, without any protection."""
    (bare, _), (grade, grade_cpu), (own, own_cpu) = in_turns(2 if quick else 5, IMPORT, GRADE, PLAIN)
    return {
        "grade reference, wall, to import torch": grade / bare,
        "in one process, wall, to import torch": own / bare,
        "grade to one process, wall": grade / own,
        "grade to one process, CPU": grade_cpu / own_cpu,
    }


def notebooks(quick: bool) -> Figures:
    """Time the same work on notebooks: nbgrader's autograde with and without the grader, and `regrade`."""
    from autograder.nbgrader import gradebook
    from autograder.nbgrader.course import make
    from tests.notebooks import FROM_PAPER
    from tests.test_nbgrader import written

    times = 2 if quick else 4
    found, sources = {}, [bank_file.REFERENCE[name].decode() for name in ("gpt.py", "paper.py", "verify.py")]
    with tempfile.TemporaryDirectory() as name:
        course = Path(name)
        make(course, ASSIGNMENT)
        own, command = course / "nbgrader_config.py", [sys.executable, "-m", "nbgrader"]
        timed([*command, "generate_assignment", gradebook.NAME], course)
        release = json.loads((course / "release" / gradebook.NAME / f"{gradebook.NAME}.ipynb").read_text())
        head = (ROOT / "reference" / "head.py").read_text()
        cells = written(release, f"{head}\n{sources[0]}", sources[1] + FROM_PAPER.sub("", sources[2]))
        for n in range(times):
            folder = course / "submitted" / f"s{n}" / gradebook.NAME
            folder.mkdir(parents=True)
            (folder / f"{gradebook.NAME}.ipynb").write_text(json.dumps(release | {"cells": cells}))
        grade = [*command, "autograde", gradebook.NAME, "--force"]
        found["nbgrader autograde with the grader"] = timed(grade, course)[0] / times
        own.write_text(own.read_text().replace("c.Autograde.autograde_preprocessors", "# "))
        found["nbgrader autograde by itself, which runs all cells in a kernel"] = timed(grade, course)[0] / times
        regrade = [
            sys.executable,
            "-m",
            "autograder",
            "regrade",
            str(course / "submitted"),
            "--gradebook",
            str(course / "out"),
        ]
        found["regrade"] = timed(regrade)[0] / times
    return {f"{what}, each of {times}": wall for what, wall in found.items()}


SECTIONS: dict[str, Callable[[bool], Figures]] = {
    "single": single,
    "batch": batch,
    "workers": workers,
    "memory": growth,
    "checks": checks,
    "layers": layers,
    "plain": plain,
    "notebooks": notebooks,
}


def lines(section: str, figures: Figures) -> Iterator[tuple[str, str, str]]:
    """Return the rows of the table: quantity, value, and comparison with the budget."""
    for name, value in figures.items():
        limit = BUDGET.get(section)
        if name != "budget":
            yield name, f"{value:,.2f}", ""
        elif limit:
            within = "within" if value <= limit.most else "OVER"
            yield limit.name, f"{value:,.2f} {limit.unit}", f"{within} {limit.most:g} {limit.unit}"


def main() -> None:
    parser = argparse.ArgumentParser(description="What grading costs, against the budget")
    parser.add_argument("--quick", action="store_true", help="fewer repetitions")
    parser.add_argument("--only", nargs="+", choices=SECTIONS, default=list(SECTIONS))
    options = parser.parse_args()
    for name in options.only:
        doc = SECTIONS[name].__doc__ or ""
        table = Table("", "", "budget", title=f"{name}: {doc}", title_justify="left", box=None, pad_edge=False)
        for row in lines(name, SECTIONS[name](options.quick)):
            table.add_row(*row)
        Console(width=100, highlight=False).print(table, "")


if __name__ == "__main__":
    main()
