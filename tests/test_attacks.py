"""Test that an attack gets the score that the submission deserves, and changes nothing outside it.

Each file of tests/bank/attacks states the score it deserves, and prints its successes on lines that begin with GAINED.
"""

from __future__ import annotations

import contextlib
import ctypes
import importlib
import importlib.util
import os
import secrets
import shutil
import signal
import socket
import stat
import sysconfig
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from autograder.assignment import ASSIGNMENT, mistakes
from autograder.grading import suite
from autograder.grading.report import Report
from autograder.sandbox.isolation.confine import Limits
from autograder.sandbox.remote.client import SandboxError, Zygote
from autograder.submission.read import read_submission
from tests import bank_file
from tests.conftest import ROOT
from tests.processes import descendants
from tests.reports import harmful, lost
from tests.test_bank import CLASSES, ROWS

LIMITS = Limits(
    call_cpu=3.0,
    again_cpu=0.3,
    call_idle=2.0,
    again_idle=0.3,
    submission_idle=15.0,
    wall_factor=8.0,
    submission_cpu=40.0,
)
SECRET = b"not the public one"
COMPARED = ("attention", "mlp", "block", "norm", "model")  # criteria that compare outputs; others add remarks
PR_SET_CHILD_SUBREAPER = 36
LEFT = "left-by-a-submission"
SHARED = [Path(folder) for folder in ("/tmp", "/var/tmp", "/dev/shm", "/")]
# Listed without subfolders: a submission could add a file beside the libraries, or change one at the top.
LIBRARIES = [Path(sysconfig.get_path(name)) for name in ("purelib", "platlib", "stdlib")]
LIBRARIES += [Path(importlib.import_module(name).__path__[0]) for name in ("numpy", "pydantic")]
LIBRARIES += [Path(str(spec.origin)).parent for spec in [importlib.util.find_spec("torch")] if spec]
KEPT = [ROOT / name for name in ("autograder", "reference", "student", "tests")]

State = dict[str, tuple[int | str, ...]]


class Arena:
    """A grader for attacks: a zygote, renewed if killed, and files and processes that no attack may read or change."""

    def __init__(self, folder: Path) -> None:
        self.others = descendants(os.getpid())  # processes of other tests
        self.guarded, self.canary = folder / "guarded", f"CANARY{secrets.token_hex(16)}"
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.listener.setblocking(False)
        self.zygote = Zygote(LIMITS)
        self.restore()

    def restore(self) -> None:
        """Undo what an attack did, so that the next one is judged by itself."""
        for pid in descendants(os.getpid()) - self.own():
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        for folder in (*SHARED, *LIBRARIES):
            shutil.rmtree(folder / LEFT, ignore_errors=True)
            (folder / f"{LEFT}.txt").unlink(missing_ok=True)
        shutil.rmtree(self.guarded, ignore_errors=True)
        for name in ("results", "submissions/other"):
            (self.guarded / name).mkdir(parents=True)
        for name in ("secret.txt", "submissions/other/gpt.py", "metadata.json"):
            (self.guarded / name).write_text(f"# {self.canary}\n")
        (self.guarded / "results" / "results.json").write_text('{"score": 0}')
        if self.zygote._process.poll() is not None:
            self.zygote.close()
            self.zygote = Zygote(LIMITS)
        self.zygote.oracle(ASSIGNMENT.oracle, str(ASSIGNMENT.root))

    def own(self) -> set[int]:
        """Return the processes that outlive a submission: the grader's own, and those of other tests."""
        own = (
            {self.zygote.pid, self.zygote.oracle(ASSIGNMENT.oracle, str(ASSIGNMENT.root)).pid}
            if self.zygote._process.poll() is None
            else set()
        )
        return self.others | own

    def state(self) -> State:
        """Return the state that must not change: size, time of change, mode and link count of each file, mode and
        entries of each folder. A folder's own times are left out, since a concurrent test may compile its modules."""
        paths = [path for folder in (*KEPT, self.guarded) for path in (folder, *folder.rglob("*"))]
        # The oracle is renewed when a question takes too long.
        paths += (path for path in self.zygote.folder.iterdir() if not path.name.startswith("oracle-"))
        paths += [entry for folder in LIBRARIES for entry in folder.iterdir()]
        paths += [entry for folder in SHARED for entry in folder.glob(f"{LEFT}*")]
        found = {}
        for path in paths:
            if "__pycache__" not in path.parts and path.name != "zygote.log":
                status = path.lstat()
                if stat.S_ISDIR(status.st_mode):
                    found[str(path)] = (
                        status.st_mode,
                        *sorted({entry.name for entry in path.iterdir()} - {"__pycache__"}),
                    )
                else:
                    found[str(path)] = (status.st_size, status.st_mtime_ns, status.st_mode, status.st_nlink)
        return found

    def processes(self) -> set[int]:
        """Return all living processes started from here, after a moment for those that are ending."""
        for _ in range(100):
            found = descendants(os.getpid()) - self.own()
            if not found:
                break
            time.sleep(0.01)
        return found

    def connected(self) -> bool:
        """Return whether anyone has reached the port."""
        reached = False
        with contextlib.suppress(BlockingIOError):
            while True:
                self.listener.accept()[0].close()
                reached = True
        return reached

    def grade(self, path: Path, only: str | None = None) -> Report:
        return suite.grade(ASSIGNMENT, read_submission(path, ASSIGNMENT), self.zygote, ROWS, secret=SECRET, only=only)

    def write(self, entry: bank_file.BankFile, folder: Path) -> Path:
        """Write an attack on this arena as a folder."""
        port = self.listener.getsockname()[1]
        return entry.write(folder, [("/guarded", str(self.guarded)), ("GUARDED_PORT", str(port))])


@pytest.fixture(scope="module")
def arena(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Arena]:
    # Processes that escape their parent become children of this one, which can list them.
    libc = ctypes.CDLL(None)
    libc.prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    arena = Arena(tmp_path_factory.mktemp("arena"))
    yield arena
    arena.restore()
    arena.zygote.close()
    arena.listener.close()
    libc.prctl(PR_SET_CHILD_SUBREAPER, 0, 0, 0, 0)


def gained(report: Report, entry: bank_file.BankFile, canary: str) -> Iterator[str]:
    """Yield the differences between a report and the result that the submission deserves."""
    deserved = entry.loses | {id: status for id, status in entry.bonus.items() if status != "passed"}
    got, told = lost(report), {check.id: check.message for check in report.checks}
    for id in (check.id for check in ROWS.checks):
        if got.get(id) != deserved.get(id):
            yield f"{id} is {got.get(id, 'passed')}, deserves {deserved.get(id, 'passed')}: {told[id][:300]}"
    named = {found.mistake for check in report.checks if check.criterion in CLASSES for found in check.diagnosis}
    named = {name for name in named if mistakes.named(name).component in COMPARED}
    if named != {name for name in entry.names if mistakes.named(name).component in COMPARED}:
        yield f"named {named}, deserves {entry.names}"
    if not report.gradable or [check.id for check in report.checks] != [check.id for check in ROWS.checks]:
        yield "it is no grade"
    if canary in report.to_json():
        yield "the report holds the secret"
    yield from sorted({line for line in report.output.splitlines() if line.startswith("GAINED")})


def around(arena: Arena, before: State) -> Iterator[str]:
    """Yield the changes around the submission."""
    if left := arena.processes():
        yield f"{len(left)} processes are left"
    if arena.connected():
        yield "the port was reached"
    if arena.zygote._process.poll() is not None:
        yield "the zygote is dead"
    elif len(list(arena.zygote.folder.glob("oracle-*"))) != 1:
        yield "the folder of an oracle is left"
    after = arena.state()
    for path in sorted(before.keys() | after.keys()):
        if before.get(path) != after.get(path):
            yield f"{path} was {before.get(path)} and is {after.get(path)}"


@pytest.mark.parametrize("path", bank_file.paths("attacks"), ids=lambda path: path.stem)
def test_an_attack_gets_what_it_deserves_and_changes_nothing(path: Path, arena: Arena, tmp_path: Path) -> None:
    entry = bank_file.load(path)
    folder, before, started = arena.write(entry, tmp_path), arena.state(), time.monotonic()
    wrong = []
    try:
        report = arena.grade(folder)
        wrong += [*gained(report, entry, arena.canary), *harmful(report)]
        # One call may be under way when the budget runs out; everything else gets 30 s.
        if report.timing.cpu > LIMITS.submission_cpu + LIMITS.call_cpu:
            wrong.append(f"{report.timing.cpu:.0f} s of CPU time")
    except (SandboxError, OSError) as error:
        wrong.append(f"the grader failed: {error}")
    passed = time.monotonic() - started
    if passed > LIMITS.submission_cpu * LIMITS.wall_factor + 30:
        wrong.append(f"{passed:.0f} s")
    wrong += around(arena, before)
    arena.restore()
    if missing := [
        check.id for check in arena.grade(bank_file.ROOT / "reference", "mlp").of("mlp") if check.status != "passed"
    ]:
        wrong.append(f"the next submission loses {missing}")
    assert not wrong, "\n".join([entry.about, *wrong])


# Texts that have crashed parsers, too long for files of the bank; they follow a correct model, or are alone.
TEXTS = {
    "open parentheses": b"x = " + b"(" * 200_000,
    "parentheses": b"x = " + b"(" * 200_000 + b")" * 200_000,
    "signs": b"x = " + b"-" * 400_000 + b"1",
    "attributes": b"x = torch" + b".nn" * 200_000,
    "digits": b"x = " + b"9" * 400_000,
    "one long line": b"x = [" + b"1, " * 200_000 + b"]",
    "nested lists": b"x = 0\nfor _ in range(100000): x = [x]\nprint(repr(x))",
    "nested functions": b"".join(b" " * n + b"def f():\n" for n in range(500)) + b" " * 500 + b"pass",
    "branches": b"if 0: pass\n" + b"elif 0: pass\n" * 30_000,
    "statements that raise": b"1 / 0\n" * 20_000,
    "definitions that do not parse": b"def (\n" * 20_000,
    "text without end": b'"""' + b"\\\n" * 100_000,
    "no line end": b"x = 1" + b"\x0c\r\x0b" * 100_000,
    "comments": b"# \xe2\x80\xa8\n" * 100_000,
}


@pytest.mark.parametrize("alone", [False, True], ids=["after a right model", "alone"])
@pytest.mark.parametrize("text", TEXTS)
def test_no_text_harms_the_grader(text: str, alone: bool, arena: Arena, tmp_path: Path) -> None:
    model = (ROOT / "reference" / "gpt.py").read_bytes()
    (tmp_path / "gpt.py").write_bytes((b"" if alone else model + b"\n\n") + TEXTS[text])
    before = arena.state()
    report = arena.grade(tmp_path, "mlp")
    wrong = [f"{check.id}: {check.message}" for check in report.checks if check.status == "error"]
    assert not [*wrong, *harmful(report), *around(arena, before)]
    assert report.gradable
    assert len(report.warnings) <= 6


def test_thousands_of_statements_that_raise_cost_a_right_model_nothing(arena: Arena, tmp_path: Path) -> None:
    model = (ROOT / "reference" / "gpt.py").read_bytes()
    (tmp_path / "gpt.py").write_bytes(model + b"\n1 / 0" * 5_000)
    report = arena.grade(tmp_path, "mlp")
    assert report.score == report.max_score
    assert "more statements" in report.warnings[-1]


def test_after_all_attacks_a_right_submission_gets_full_marks(arena: Arena) -> None:
    report = arena.grade(ROOT / "reference")
    assert not lost(report)
    assert report.score == report.max_score == ROWS.total


def test_the_attacks_are_many_and_most_come_with_a_wrong_model() -> None:
    entries = [bank_file.load(path) for path in bank_file.paths("attacks")]
    assert len(entries) >= 55
    assert sum(bool(entry.loses) for entry in entries) > len(entries) / 2
