"""Confine a worker before it runs student code: drop every right that the code could abuse.

The layers use kernel features that need no privilege, and each is skipped if unavailable. The report's provenance
names the layers in force:

    cpu, as, fsize, nofile, core, sigpending    resource limits; nproc if the worker has its own user
    uid              a separate user for each worker, if the grader is root
    capabilities     none, if the grader is root but the worker cannot change its user
    no_new_privs     executed programs gain no privileges
    undumpable       other processes of the user cannot inspect this one
    landlock-N       files: read libraries, write to the scratch folder, nothing else (N is the kernel's ABI)
    seccomp          no processes, threads, programs, sockets, folders, signals to others; see seccomp.py
    no_open          no files at all, by seccomp, if Landlock is missing

A worker with its own user may be unable to read its libraries: containers often have a virtual environment under
/root, closed to others. The zygote tests this once. If libraries are unreadable, the worker keeps the grader's user,
since student code imports late and not everything can be preloaded; Landlock and seccomp then separate workers. With
no_open, workers read no files anyway (the zygote has preloaded the libraries), so the user is changed.
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

from autograder.sandbox.isolation import landlock, seccomp, syscalls, users

PROCESSES = 64  # the most processes that one user may have, threads included


@dataclass(frozen=True, slots=True)
class Limits:
    """Limits for one submission; the trusted side counts CPU seconds itself, with resource limits as a backstop.

    A process is idle while it neither computes nor waits for a CPU or the disk. Wall limits are five times the CPU
    limits, so that a busy machine changes no score even if the kernel does not report idle time.
    """

    call_cpu: float = 10.0  # s, one call
    again_cpu: float = 2.0  # s, a repeated call that hit its limit before
    submission_cpu: float = 50.0  # s, all calls together
    call_idle: float = 8.0  # s, one call
    again_idle: float = 0.5  # s, a repeated call that hit its limit before
    submission_idle: float = 20.0  # s, all calls together
    wall_factor: float = 5.0
    memory: int = 2 << 30  # bytes of address space
    file_size: int = 1 << 20  # bytes, one file
    open_files: int = 64
    output: int = 32 << 10  # bytes of printed output that are kept


@dataclass(frozen=True, slots=True)
class Plan:
    """The layers available on this machine, prepared once by the zygote; a worker only applies them."""

    files: landlock.Policy | None
    calls: seccomp.Filter | None
    calls_without_files: seccomp.Filter | None
    users: users.Pool | None

    @property
    def opens_nothing(self) -> bool:
        """Return whether workers cannot open files, so that everything they use must be loaded first."""
        return self.files is None and self.calls is not None


def plan(root: str, without: Collection[str] = ()) -> Plan:
    """Return the layers available here. ``root`` contains the package; ``without`` omits landlock, seccomp or uid."""
    files = None if "landlock" in without else landlock.prepare(root)
    filters = "seccomp" not in without and seccomp.is_available()
    calls, without_files = (seccomp.build(opening=True), seccomp.build(opening=False)) if filters else (None, None)
    pool = None
    if "uid" not in without and sys.platform == "linux" and os.geteuid() == 0:
        os.chmod(".", 0o711)  # this folder contains the scratch folders, each owned by its user
        pool = users.Pool()
        uid = pool.take()
        # If no file can be opened, everything is already loaded.
        needed = [] if files is None and calls else [folder for folder in sys.path if os.path.isdir(folder)]
        if uid is None or not users.can_read(uid, needed):
            pool = None
        else:
            pool.give_back(uid)
    return Plan(files, calls, without_files, pool)


def confine(limits: Limits, plan: Plan, channel: int, scratch: str, uid: int | None) -> list[str]:
    """Apply every layer to this process permanently, in this order; return the names of those in force."""
    layers: list[str] = []

    def apply(name: str, layer: Callable[[], None]) -> bool:
        try:
            layer()
        except (OSError, ValueError):
            return False
        layers.append(name)
        return True

    close_all_but(channel)
    os.umask(0o077)
    # If memory runs out, the kernel should kill the student's process, not the grader.
    with contextlib.suppress(OSError):
        syscalls.prctl(syscalls.PR_SET_DUMPABLE, 1)  # else this user does not own the file below
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
        # Queued signals are counted per user, so others could observe their number.
        *([("SIGPENDING", 0, 0)] if hasattr(resource, "RLIMIT_SIGPENDING") else []),
        *([] if uid is None else [("NPROC", PROCESSES, PROCESSES)]),
    ):
        apply(kind.lower(), partial(resource.setrlimit, getattr(resource, f"RLIMIT_{kind}"), (soft, hard)))
    os.chdir(scratch)
    if uid is not None and apply("uid", partial(_switch_user, scratch, uid)):
        die_with_parent()  # reset by the change of user
    elif os.geteuid() == 0:
        apply("capabilities", syscalls.drop_capabilities)
    apply("no_new_privs", partial(syscalls.prctl, syscalls.PR_SET_NO_NEW_PRIVS, 1))
    apply("undumpable", make_undumpable)
    files = plan.files
    closed = files is not None and apply(f"landlock-{files.abi}", partial(files.apply, scratch))
    calls = plan.calls if closed else plan.calls_without_files
    if calls is not None and apply("seccomp", calls.apply) and not closed:
        layers.append("no_open")
    return layers


def close_all_but(channel: int) -> None:
    """Close all descriptors except the standard ones and ``channel``."""
    os.closerange(3, channel)
    os.closerange(channel + 1, 1 << 16)


def die_with_parent(by: signal.Signals = signal.SIGKILL) -> None:
    """Ask the kernel to kill this process when the thread that started it ends (Linux)."""
    with contextlib.suppress(OSError):
        syscalls.prctl(syscalls.PR_SET_PDEATHSIG, by)


def make_undumpable() -> None:
    """Keep other processes of the same user from reading this one's memory. Raises OSError if refused."""
    syscalls.prctl(syscalls.PR_SET_DUMPABLE, 0)


def _switch_user(scratch: str, uid: int) -> None:
    os.chown(scratch, uid, uid)
    users.switch_user(uid)
