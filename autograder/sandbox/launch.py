"""Launches the zygote's process. Little is imported here, so that it can come before all else: torch takes longest."""

from __future__ import annotations

import contextlib
import os
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import IO, NamedTuple

from autograder.sandbox import scratch

ROOT = str(Path(__file__).resolve().parents[2])
KEPT = ("OPENBLAS_CORETYPE", "OPENBLAS_L2_SIZE", "LD_LIBRARY_PATH")  # how numpy and torch find and fit the machine


class Launched(NamedTuple):
    """A process that loads torch, the wire to it, its folder, and the file in it that it writes its complaints to."""

    process: subprocess.Popen[bytes]
    wire: socket.socket
    folder: Path
    log: IO[bytes]

    def end(self) -> None:
        """End the process, whatever it does, and take its folder away."""
        self.wire.close()
        self.process.kill()
        self.process.wait()
        self.log.close()
        scratch.remove(self.folder)


_waiting: list[Launched] = []


def launch(without: Sequence[str] = ()) -> Launched:
    """A new process, or the one that was launched ahead; ``without`` names layers of confinement to leave out."""
    if _waiting and not without:
        return _waiting.pop()
    folder = Path(tempfile.mkdtemp(prefix="autograder-"))
    ours, theirs = socket.socketpair()
    log = (folder / "zygote.log").open("wb")
    path = f"import sys; sys.path.insert(0, {ROOT!r})"
    arguments = f"{theirs.fileno()}, {ROOT!r}, {tuple(without)!r}"
    boot = f"{path}; from autograder.sandbox.zygote import main; main({arguments})"
    process = subprocess.Popen(
        # Neither the user's site-packages, nor the current folder, nor a cache file takes part.
        [sys.executable, "-s", "-P", "-B", "-c", boot],
        pass_fds=[theirs.fileno()],
        env=_environment(folder),
        cwd=folder,
        stdin=subprocess.DEVNULL,
        stdout=log,
        stderr=log,
        start_new_session=True,
    )
    theirs.close()
    return Launched(process, ours, folder, log)


@contextlib.contextmanager
def ahead() -> Iterator[None]:
    """Launch a process for whoever asks first; it ends with this context if nobody does."""
    if sys.platform != "win32":
        with contextlib.suppress(OSError):  # who asks will see it again, and say so
            _waiting.append(launch())
    try:
        yield
    finally:
        while _waiting:
            _waiting.pop().end()


def _environment(home: Path) -> dict[str, str]:
    """The whole environment of the zygote: nothing of the user's, one thread, no randomised hashes."""
    fixed = {
        "PATH": "/usr/bin:/bin",
        "HOME": str(home),
        "TMPDIR": str(home),
        "LC_ALL": "C.UTF-8",
        "PYTHONHASHSEED": "0",
        "OMP_NUM_THREADS": "1",
        "OMP_THREAD_LIMIT": "1",  # also after torch.set_num_threads: a worker cannot start threads
        "MKL_NUM_THREADS": "1",
        "OPENBLAS_NUM_THREADS": "1",
    }
    return fixed | {name: os.environ[name] for name in KEPT if name in os.environ}
