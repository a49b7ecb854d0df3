"""Give each worker its own user if the grader runs as root, which separates files, signals and processes.

The kernel counts processes by user, and leftovers are found by user, so no two workers on a machine may share one.
This holds for several graders, too: taking a uid binds a socket name, which the kernel frees when the process ends.
Uids in use by other programs, for example in a container, are skipped.
"""

from __future__ import annotations

import contextlib
import os
import pwd
import signal
import socket
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from autograder.sandbox.isolation import syscalls

FIRST, COUNT = 60_000, 500


@dataclass(frozen=True, slots=True)
class Process:
    """A process visible on this machine."""

    pid: int
    parent: int
    uid: int


class Pool:
    """The uids that this process has taken, each free or in use."""

    def __init__(self) -> None:
        self._taken: dict[int, socket.socket] = {}
        self._free: list[int] = []

    def take(self) -> int | None:
        """Return an unused uid, or None if all are in use."""
        if self._free:
            return self._free.pop()
        others = {process.uid for process in list_processes()}
        for uid in range(FIRST, FIRST + COUNT):
            if uid in self._taken or uid in others or _has_account(uid):
                continue
            name = socket.socket(socket.AF_UNIX)
            try:
                name.bind(f"\0autograder-uid-{uid}")
            except OSError:
                name.close()
                continue
            self._taken[uid] = name
            return uid
        return None

    def give_back(self, uid: int) -> None:
        """Give back a uid that no process uses any more."""
        self._free.append(uid)


def switch_user(uid: int) -> None:
    """Change to ``uid`` and its own group permanently. Raises OSError without the privilege for it."""
    os.setgroups([])
    os.setresgid(uid, uid, uid)
    os.setresuid(uid, uid, uid)
    syscalls.drop_capabilities()  # some systems keep them when the user changes


def kill_all(uid: int) -> None:
    """Kill every process of ``uid`` at once, so that none can start another meanwhile.

    Do nothing if any of them was not started by this process: another program then uses that uid.
    """
    found = {process.pid: process for process in list_processes()}
    if any(process.uid == uid and _is_foreign(process, found) for process in found.values()):
        return
    try:
        pid = syscalls.fork()
    except OSError:
        return  # the uid then stays in use
    if pid == 0:
        try:
            switch_user(uid)
            os.kill(-1, signal.SIGKILL)  # does not kill the caller
        finally:
            os._exit(0)
    os.waitpid(pid, 0)


def has_processes(uid: int) -> bool:
    """Return whether any process uses ``uid``."""
    return any(process.uid == uid for process in list_processes())


def _is_foreign(process: Process, found: Mapping[int, Process]) -> bool:
    """Return whether a process was not started by this one, judging by its nearest ancestor with another uid."""
    uid = process.uid
    for _ in found:
        if process.parent == os.getpid():
            return False
        if process.parent not in found:  # 0 is outside the container; any other process has ended
            return process.parent == 0
        process = found[process.parent]
        if process.uid != uid:
            return True
    return True


def list_processes() -> Iterator[Process]:
    """Yield all processes. Undumpable ones have /proc folders owned by root, but their status still gives the uid."""
    for name in os.listdir("/proc") if os.path.isdir("/proc") else ():
        with contextlib.suppress(OSError, ValueError), open(f"/proc/{int(name)}/status") as file:
            facts = dict(line.split(":", 1) for line in file)
            yield Process(int(name), int(facts["PPid"]), int(facts["Uid"].split()[0]))


def can_read(uid: int, folders: Sequence[str]) -> bool:
    """Return whether a process of ``uid`` can reach the current folder, read ``folders``, and be killed from here."""
    ours, theirs = socket.socketpair()
    pid = syscalls.fork()
    if pid == 0:
        try:
            ours.close()
            switch_user(uid)
            os.stat(f"{os.getcwd()}/.")
            for folder in folders:
                with os.scandir(folder) as entries:
                    files = [entry.path for entry in entries if entry.is_file()]
                for file in files[:1]:
                    os.close(os.open(file, os.O_RDONLY))
            theirs.send(b"+")
            theirs.recv(1)
        finally:
            os._exit(0)
    theirs.close()
    is_able = ours.recv(1) == b"+"
    try:
        os.kill(pid, signal.SIGKILL)
    except PermissionError:
        is_able = False
    ours.close()
    os.waitpid(pid, 0)
    return is_able


def _has_account(uid: int) -> bool:
    with contextlib.suppress(KeyError):
        return bool(pwd.getpwuid(uid))
    return False
