"""What a worker does to itself before it sees a line of student code: fewer resources and no way to outlive the grader.

Each layer says whether it held; the names of those that did end up in the report's provenance.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import resource
import signal
import sys
from dataclasses import dataclass

PR_SET_PDEATHSIG = 1
PR_SET_DUMPABLE = 4
PR_SET_NO_NEW_PRIVS = 38


@dataclass(frozen=True, slots=True)
class Limits:
    """Ceilings for one submission; the trusted side counts CPU seconds itself, the resource limits are the backstop.

    Wall limits are five times the CPU limits, so that a busy machine changes no score.
    """

    call_cpu: float = 10.0  # s, one call
    again_cpu: float = 2.0  # s, another call of what has already run into its limit once
    submission_cpu: float = 60.0  # s, all calls together
    wall_factor: float = 5.0
    memory: int = 2 << 30  # bytes of address space
    file_size: int = 1 << 20  # bytes, one file
    open_files: int = 64
    output: int = 32 << 10  # bytes of printed output that are kept


def die_with_parent(by: signal.Signals = signal.SIGKILL) -> None:
    """Ask the kernel to end this process when the thread that started it ends (Linux)."""
    if sys.platform == "linux":
        _prctl(PR_SET_PDEATHSIG, by)


def confine(limits: Limits) -> list[str]:
    """Apply every layer to this process, for good; the names of the layers that held."""
    held = []
    die_with_parent()
    # When memory runs out, the kernel should take the student's process, not the grader.
    with contextlib.suppress(OSError), open("/proc/self/oom_score_adj", "w") as file:
        file.write("1000")
    cpu = int(limits.submission_cpu) + 1
    ceilings = {
        "RLIMIT_CPU": (cpu, cpu + 1),
        "RLIMIT_AS": (limits.memory, limits.memory),
        "RLIMIT_FSIZE": (limits.file_size, limits.file_size),
        "RLIMIT_NOFILE": (limits.open_files, limits.open_files),
        "RLIMIT_CORE": (0, 0),
    }
    for name, (soft, hard) in ceilings.items():
        with contextlib.suppress(OSError, ValueError):
            resource.setrlimit(getattr(resource, name), (soft, hard))
            held.append(name.removeprefix("RLIMIT_").lower())
    if sys.platform == "linux" and _prctl(PR_SET_NO_NEW_PRIVS, 1):
        held.append("no_new_privs")
    if sys.platform == "linux" and _prctl(PR_SET_DUMPABLE, 0):
        held.append("undumpable")
    os.umask(0o077)
    return held


def _prctl(option: int, value: int) -> bool:
    return bool(ctypes.CDLL(None, use_errno=True).prctl(option, value, 0, 0, 0) == 0)
