"""What a worker does to itself before it sees a line of student code: it gives up what the code could do harm with.

Layer upon layer, each by what the kernel offers to everyone, and each left out where it is not there. The names of
those that held end up in the report's provenance:

    cpu, as, fsize, nofile, core, sigpending    resource limits; nproc where the worker is a user of its own
    uid              another user for each worker, where the grader is root
    capabilities     none, where the grader is root but the worker cannot be another user
    no_new_privs     nothing that is executed gains privileges
    undumpable       other processes of the user cannot look into this one
    landlock-N       files: libraries can be read, the scratch folder written to, nothing else (N is the kernel's ABI)
    seccomp          no processes, threads, programs, sockets, folders, signals to others; see seccomp.py
    no_open          no files at all, by seccomp: where Landlock is missing

A worker that is another user may be unable to read the very libraries that it needs: a virtual environment under
/root, which is closed to others, is common in containers. The zygote tries it once. Where libraries cannot be read the
user stays, since student code imports late and preloading cannot foresee what; Landlock and seccomp then do the work.
With no_open nothing is read later in any case (the zygote has loaded what students use), so the user is changed.
"""

from __future__ import annotations

import contextlib
import os
import resource
import signal
import sys
from collections.abc import Callable, Collection
from dataclasses import dataclass
from functools import partial

from autograder.sandbox import landlock, linux, seccomp, uids

PROCESSES = 64  # of one user, threads included


@dataclass(frozen=True, slots=True)
class Limits:
    """Ceilings for one submission; the trusted side counts CPU seconds itself, the resource limits are the backstop.

    A process is idle while it neither computes nor waits for a CPU or the disk. Wall limits are five times the CPU
    limits, so that a busy machine changes no score where the kernel does not tell idle time.
    """

    call_cpu: float = 10.0  # s, one call
    again_cpu: float = 2.0  # s, another call of what has already run into its limit once
    submission_cpu: float = 50.0  # s, all calls together
    call_idle: float = 8.0  # s, one call
    again_idle: float = 0.5  # s, another call of what has already run into its limit once
    submission_idle: float = 20.0  # s, all calls together
    wall_factor: float = 5.0
    memory: int = 2 << 30  # bytes of address space
    file_size: int = 1 << 20  # bytes, one file
    open_files: int = 64
    output: int = 32 << 10  # bytes of printed output that are kept


@dataclass(frozen=True, slots=True)
class Plan:
    """The layers of this machine, worked out once by the zygote, so that a worker only has to apply them."""

    files: landlock.Policy | None
    calls: seccomp.Filter | None
    calls_without_files: seccomp.Filter | None
    uids: uids.Pool | None

    @property
    def opens_nothing(self) -> bool:
        """Whether workers will find no file, so that whatever they use must be loaded before."""
        return self.files is None and self.calls is not None


def plan(root: str, without: Collection[str] = ()) -> Plan:
    """What can be had here. ``root`` holds the grader's package; ``without`` leaves out landlock, seccomp or uid."""
    files = None if "landlock" in without else landlock.prepare(root)
    filters = "seccomp" not in without and seccomp.available()
    calls, without_files = (seccomp.build(opening=True), seccomp.build(opening=False)) if filters else (None, None)
    pool = None
    if "uid" not in without and sys.platform == "linux" and os.geteuid() == 0:
        os.chmod(".", 0o711)  # the scratch folders lie in it, each its user's own
        pool = uids.Pool()
        uid = pool.take()
        # Where no file can be opened, everything is loaded already.
        needed = [] if files is None and calls else [folder for folder in sys.path if os.path.isdir(folder)]
        if uid is None or not uids.usable(uid, needed):
            pool = None
        else:
            pool.give_back(uid)
    return Plan(files, calls, without_files, pool)


def confine(limits: Limits, plan: Plan, channel: int, scratch: str, uid: int | None) -> list[str]:
    """Apply every layer to this process, for good; the names of the layers that held. The order matters."""
    held: list[str] = []

    def apply(name: str, layer: Callable[[], None]) -> bool:
        try:
            layer()
        except (OSError, ValueError):
            return False
        held.append(name)
        return True

    close_all_but(channel)
    os.umask(0o077)
    # When memory runs out, the kernel should take the student's process, not the grader.
    with contextlib.suppress(OSError):
        linux.prctl(linux.PR_SET_DUMPABLE, 1)  # or the file below is not this user's
        with open("/proc/self/oom_score_adj", "w") as file:
            file.write("1000")
    die_with_parent()
    cpu = int(limits.submission_cpu) + 1
    for kind, soft, hard in (
        ("CPU", cpu, cpu + 1),
        ("AS", limits.memory, limits.memory),
        ("FSIZE", limits.file_size, limits.file_size),
        ("NOFILE", limits.open_files, limits.open_files),
        ("CORE", 0, 0),
        # Signals that are queued count for the user as a whole, so that others could see how many there are.
        *([("SIGPENDING", 0, 0)] if hasattr(resource, "RLIMIT_SIGPENDING") else []),
        *([] if uid is None else [("NPROC", PROCESSES, PROCESSES)]),
    ):
        apply(kind.lower(), partial(resource.setrlimit, getattr(resource, f"RLIMIT_{kind}"), (soft, hard)))
    os.chdir(scratch)
    if uid is not None and apply("uid", partial(_move, scratch, uid)):
        die_with_parent()  # forgotten with the change of user
    elif os.geteuid() == 0:
        apply("capabilities", linux.drop_capabilities)
    apply("no_new_privs", partial(linux.prctl, linux.PR_SET_NO_NEW_PRIVS, 1))
    apply("undumpable", undumpable)
    files = plan.files
    closed = files is not None and apply(f"landlock-{files.abi}", partial(files.apply, scratch))
    calls = plan.calls if closed else plan.calls_without_files
    if calls is not None and apply("seccomp", calls.apply) and not closed:
        held.append("no_open")
    return held


def close_all_but(channel: int) -> None:
    """Leave the standard descriptors and ``channel`` open, nothing else."""
    os.closerange(3, channel)
    os.closerange(channel + 1, 1 << 16)


def die_with_parent(by: signal.Signals = signal.SIGKILL) -> None:
    """Ask the kernel to end this process when the thread that started it ends (Linux)."""
    with contextlib.suppress(OSError):
        linux.prctl(linux.PR_SET_PDEATHSIG, by)


def undumpable() -> None:
    """Keep other processes of the same user from reading this one's memory. Raises OSError where that cannot be."""
    linux.prctl(linux.PR_SET_DUMPABLE, 0)


def _move(scratch: str, uid: int) -> None:
    os.chown(scratch, uid, uid)
    uids.become(uid)
