"""One zygote and a pool of trusted graders that share it; each grades one submission at a time."""

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

from autograder import submission, suite
from autograder.rubric import Rubric
from autograder.sandbox import canary
from autograder.sandbox.confine import Limits, die_with_parent
from autograder.sandbox.process import Process, SandboxError, Zygote
from autograder.submission import BadSubmission

PAUSES = (5.0, 30.0)  # s, between attempts to start anew


@dataclass(frozen=True, slots=True)
class Graded:
    """A report as JSON, or why there is none."""

    sha256: str
    document: str = ""
    trouble: str = ""


@dataclass(frozen=True, slots=True)
class Conditions:
    """What the reports of a run depend on besides the submissions."""

    rubric: Rubric
    secret: bytes
    accept: bool = False  # also a sandbox that does not hold everything


class SharedZygote(Zygote):
    """A zygote that several forks of this process use in turn: a question and its answer are never torn apart."""

    def __init__(self, limits: Limits | None = None) -> None:
        self._turn = multiprocessing.get_context("fork").RLock()
        super().__init__(limits)

    def fork(self, role: str) -> Process:
        with self._turn:
            return super().fork(role)

    def reap(self, *args: Any, **kwargs: Any) -> dict[str, Any]:
        with self._turn:
            return super().reap(*args, **kwargs)


def opened(conditions: Conditions, folders: Sequence[Path] = ()) -> tuple[SharedZygote, tuple[str, ...]]:
    """The zygote of a batch, and what of its sandbox was accepted. Grades of a course count.

    Raises Refused where student code is not kept in, or out of ``folders``.
    """
    zygote = SharedZygote()
    try:
        zygote.ready()
        return zygote, canary.check(zygote, folders, conditions.accept)
    except BaseException:
        zygote.close()
        raise


def graded(path: Path, sha256: str, zygote: Zygote, accepted: tuple[str, ...], conditions: Conditions) -> Graded:
    """The report on the sources in ``path``. Raises SandboxError."""
    try:
        handed_in = submission.read(path)
    except BadSubmission as error:
        return Graded(sha256, trouble=str(error))
    except Exception as error:  # the processes are fine, so that others are not graded again for it
        return Graded(sha256, trouble=f"not graded: its files cannot be read ({type(error).__name__}: {error})")
    report = suite.grade(
        handed_in, zygote, conditions.rubric, secret=conditions.secret, mode="official", accepted=accepted
    )
    # Names of students are in the gradebook alone.
    facts = report.submission.model_copy(update={"id": sha256[:12]})
    return Graded(sha256, report.model_copy(update={"submission": facts}).to_json())


# --- in the processes of the pool -------------------------------------------------------------------------------------

_shared: tuple[Zygote, tuple[str, ...], Conditions] | None = None  # inherited by the forks


def _started(parent: int) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C reaches all of the group: the parent decides
    die_with_parent()
    if os.getppid() != parent:
        os._exit(1)


def _task(path: Path, sha256: str) -> list[Graded]:
    assert _shared is not None
    return [graded(path, sha256, *_shared)]


class LocalPool:
    """Grades on this machine. Use as a context manager; after a loss, `renew` starts all processes anew."""

    shared = True

    def __init__(self, conditions: Conditions, workers: int, folders: Sequence[Path] = ()) -> None:
        self.conditions, self.ahead, self.chunk = conditions, workers + 1, 1
        self._workers, self._folders = workers, folders
        self._start()

    def _start(self) -> None:
        global _shared
        self._zygote, accepted = opened(self.conditions, self._folders)
        try:
            _shared = (self._zygote, accepted, self.conditions)
            context = multiprocessing.get_context("fork")
            self._executor = ProcessPoolExecutor(self._workers, context, _started, (os.getpid(),))
            self._executor.submit(os.getpid).result()  # all forks are made at the first task, before any thread is
        except BaseException:
            self._zygote.close()
            raise

    def submit(self, chunk: list[tuple[str, Path]]) -> Future[list[Graded]]:
        """Grade one submission."""
        ((sha256, path),) = chunk
        return self._executor.submit(_task, path, sha256)

    def renew(self) -> None:
        """A process was lost, and with it perhaps a half-said word to the zygote: start over with new ones.

        Raises SandboxError where that fails again and again, as on a machine that has no memory left.
        """
        self.close()
        for pause in PAUSES:
            try:
                return self._start()
            except SandboxError:
                time.sleep(pause)  # a machine too busy to load torch in time may not be so for long
        self._start()

    def close(self) -> None:
        """End all processes, whatever they are doing."""
        processes = list((self._executor._processes or {}).values())  # there is no public way to end them
        self._executor.shutdown(wait=False, cancel_futures=True)
        for process in processes:
            with contextlib.suppress(OSError, ValueError):
                process.kill()
        for process in processes:
            with contextlib.suppress(OSError, ValueError, AssertionError):
                process.join(5)
        self._zygote.close()


@contextlib.contextmanager
def local(conditions: Conditions, workers: int, folders: Sequence[Path] = ()) -> Iterator[LocalPool]:
    """A pool on this machine, ended in every case; no submission may reach ``folders``."""
    pool = LocalPool(conditions, workers, folders)
    try:
        yield pool
    finally:
        pool.close()
