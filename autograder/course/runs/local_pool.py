"""Grade on this machine: trusted graders share one zygote, and each grades one submission at a time."""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import signal
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from autograder.core.assignment import Assignment
from autograder.grading import suite
from autograder.grading.rubric import Rubric
from autograder.sandbox.isolation import selftest
from autograder.sandbox.isolation.confine import Limits, die_with_parent
from autograder.sandbox.remote.client import Process, SandboxError, Zygote
from autograder.submission.archive import BadSubmission
from autograder.submission.read import read_submission

PAUSES = (5.0, 30.0)  # s between attempts to restart


@dataclass(frozen=True, slots=True)
class GradeResult:
    """A report as JSON, or the reason for having none."""

    sha256: str
    document: str = ""
    trouble: str = ""


@dataclass(frozen=True, slots=True)
class RunConfig:
    """The facts besides the submissions that determine the reports of a run."""

    assignment: Assignment
    rubric: Rubric
    secret: bytes
    allow_weak_sandbox: bool = False


class SharedZygote(Zygote):
    """A zygote that several forks of this process share; a lock keeps each request together with its reply."""

    def __init__(self, limits: Limits | None = None) -> None:
        self._turn = multiprocessing.get_context("fork").RLock()
        super().__init__(limits)

    def fork(self, role: str, module: str = "", root: str = "") -> Process:
        with self._turn:
            return super().fork(role, module, root)

    def reap(self, *args: Any, **kwargs: Any) -> dict[str, Any]:
        with self._turn:
            return super().reap(*args, **kwargs)


def start_zygote(config: RunConfig, folders: Sequence[Path] = ()) -> tuple[SharedZygote, tuple[str, ...]]:
    """Return the zygote of a batch and the accepted sandbox risks.

    Raises Refused if student code could escape the sandbox or reach ``folders``.
    """
    zygote = SharedZygote()
    try:
        zygote.wait_until_ready()
        return zygote, selftest.check(zygote, folders, config.allow_weak_sandbox)
    except BaseException:
        zygote.close()
        raise


def grade_one(
    path: Path, sha256: str, zygote: Zygote, accepted_risks: tuple[str, ...], config: RunConfig
) -> GradeResult:
    """Grade the sources in ``path``. Raises SandboxError."""
    try:
        handed_in = read_submission(path, config.assignment)
    except BadSubmission as error:
        return GradeResult(sha256, trouble=str(error))
    except Exception as error:  # the processes are fine, so nothing else is graded again
        return GradeResult(sha256, trouble=f"not graded: its files cannot be read ({type(error).__name__}: {error})")
    report = suite.grade(
        config.assignment,
        handed_in,
        zygote,
        config.rubric,
        secret=config.secret,
        mode="official",
        accepted_risks=accepted_risks,
    )
    # Only the gradebook contains students' names.
    facts = report.submission.model_copy(update={"id": sha256[:12]})
    return GradeResult(sha256, report.model_copy(update={"submission": facts}).to_json())


# --- in the processes of the pool -------------------------------------------------------------------------------------

_shared: tuple[Zygote, tuple[str, ...], RunConfig] | None = None  # inherited by the forks


def _initialise_worker(parent: int) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C reaches the whole process group; the parent handles it
    die_with_parent()
    if os.getppid() != parent:
        os._exit(1)


def _grade_task(path: Path, sha256: str) -> list[GradeResult]:
    assert _shared is not None
    return [grade_one(path, sha256, *_shared)]


class LocalPool:
    """A pool on this machine. Use as a context manager; after a loss, `renew` restarts all processes."""

    is_shared = True

    def __init__(self, config: RunConfig, workers: int, folders: Sequence[Path] = ()) -> None:
        self.config, self.max_running, self.chunk = config, workers + 1, 1
        self._workers, self._folders = workers, folders
        self._start()

    def _start(self) -> None:
        global _shared
        self._zygote, accepted_risks = start_zygote(self.config, self._folders)
        try:
            _shared = (self._zygote, accepted_risks, self.config)
            context = multiprocessing.get_context("fork")
            self._executor = ProcessPoolExecutor(self._workers, context, _initialise_worker, (os.getpid(),))
            self._executor.submit(os.getpid).result()  # the first task forks all workers, before any thread starts
        except BaseException:
            self._zygote.close()
            raise

    def submit(self, chunk: list[tuple[str, Path]]) -> Future[list[GradeResult]]:
        """Grade one submission."""
        ((sha256, path),) = chunk
        return self._executor.submit(_grade_task, path, sha256)

    def renew(self) -> None:
        """Restart all processes after a loss, which may have left half a request in the zygote.

        Raises SandboxError if that keeps failing, for example if memory has run out.
        """
        self.close()
        for pause in PAUSES:
            try:
                return self._start()
            except SandboxError:
                time.sleep(pause)  # the machine may just be too busy to load torch in time
        self._start()

    def close(self) -> None:
        """Kill all processes at once."""
        processes = list((self._executor._processes or {}).values())  # there is no public way to kill them
        self._executor.shutdown(wait=False, cancel_futures=True)
        for process in processes:
            with contextlib.suppress(OSError, ValueError):
                process.kill()
        for process in processes:
            with contextlib.suppress(OSError, ValueError, AssertionError):
                process.join(5)
        self._zygote.close()


@contextlib.contextmanager
def open_local_pool(config: RunConfig, workers: int, folders: Sequence[Path] = ()) -> Iterator[LocalPool]:
    """Yield a pool on this machine and always close it; submissions cannot reach ``folders``."""
    pool = LocalPool(config, workers, folders)
    try:
        yield pool
    finally:
        pool.close()
