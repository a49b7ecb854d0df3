"""Launch the zygote's process. This module imports little, so that torch starts loading at once."""

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

from autograder.core.paths import ROOT
from autograder.sandbox.isolation import scratch

INHERITED_VARIABLES = (
    "OPENBLAS_CORETYPE",
    "OPENBLAS_L2_SIZE",
    "LD_LIBRARY_PATH",
)  # needed by numpy and torch on this machine


class ZygoteProcess(NamedTuple):
    """A process that loads torch, with its socket, its folder, and the log file in that folder."""

    process: subprocess.Popen[bytes]
    wire: socket.socket
    folder: Path
    log: IO[bytes]

    def end(self) -> None:
        """Kill the process and remove its folder."""
        self.wire.close()
        self.process.kill()
        self.process.wait()
        self.log.close()
        scratch.remove(self.folder)


_spare_processes: list[ZygoteProcess] = []


def launch(without: Sequence[str] = ()) -> ZygoteProcess:
    """Return a new process, or the one launched ahead; ``without`` names sandbox layers to omit."""
    if _spare_processes and not without:
        return _spare_processes.pop()
    folder = Path(tempfile.mkdtemp(prefix="autograder-"))
    ours, theirs = socket.socketpair()
    log = (folder / "zygote.log").open("wb")
    path = f"import sys; sys.path.insert(0, {str(ROOT)!r})"
    arguments = f"{theirs.fileno()}, {str(ROOT)!r}, {tuple(without)!r}"
    boot = f"{path}; from autograder.sandbox.remote.zygote import main; main({arguments})"
    process = subprocess.Popen(
        # Ignore the user's site-packages, the current folder and bytecode caches.
        [sys.executable, "-s", "-P", "-B", "-c", boot],
        pass_fds=[theirs.fileno()],
        env=_make_environment(folder),
        cwd=folder,
        stdin=subprocess.DEVNULL,
        stdout=log,
        stderr=log,
        start_new_session=True,
    )
    theirs.close()
    return ZygoteProcess(process, ours, folder, log)


@contextlib.contextmanager
def launch_early() -> Iterator[None]:
    """Launch a process for the first caller in advance; end it with this context if unused."""
    if sys.platform != "win32":
        with contextlib.suppress(OSError):  # the caller will hit the same error and report it
            _spare_processes.append(launch())
    try:
        yield
    finally:
        while _spare_processes:
            _spare_processes.pop().end()


def _make_environment(home: Path) -> dict[str, str]:
    """Return the zygote's complete environment: none of the user's variables, one thread, fixed hashes."""
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
    return fixed | {name: os.environ[name] for name in INHERITED_VARIABLES if name in os.environ}
