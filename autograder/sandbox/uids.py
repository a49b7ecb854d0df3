"""Another user for each worker, where the grader runs as root: its files, signals and processes are then its own.

The kernel counts processes by user, and a leftover is found by its user, so no two workers on a machine may have the
same. That holds across graders: whoever takes a number binds a name for it, which the kernel frees with the process.
Someone else's program can be such a user as well, in a container perhaps: its number is passed over.
"""

from __future__ import annotations

import contextlib
import os
import pwd
import signal
import socket
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from autograder.sandbox import linux

FIRST, COUNT = 60_000, 500


@dataclass(frozen=True, slots=True)
class Process:
    """A process of this machine, as far as it can be seen from here."""

    pid: int
    parent: int
    uid: int


class Pool:
    """The users that this process has taken, each free or in use."""

    def __init__(self) -> None:
        self._taken: dict[int, socket.socket] = {}
        self._free: list[int] = []

    def take(self) -> int | None:
        """A user that nobody is; None where all are in use."""
        if self._free:
            return self._free.pop()
        others = {process.uid for process in processes()}
        for uid in range(FIRST, FIRST + COUNT):
            if uid in self._taken or uid in others or _known(uid):
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
        """No process is this user any more."""
        self._free.append(uid)


def become(uid: int) -> None:
    """Be ``uid`` and in no group but its own, for good. Raises OSError without the privilege for it."""
    os.setgroups([])
    os.setresgid(uid, uid, uid)
    os.setresuid(uid, uid, uid)
    linux.drop_capabilities()  # gone with the user already, unless this system was told to keep them


def kill_all(uid: int) -> None:
    """End every process of ``uid`` at once, so that none can start another meanwhile.

    Not where one of them does not come from this process: someone else has become that user, and is to be left alone.
    """
    found = {process.pid: process for process in processes()}
    if any(process.uid == uid and _foreign(process, found) for process in found.values()):
        return
    try:
        pid = linux.fork()
    except OSError:
        return  # then it stays in use, and nobody else becomes it
    if pid == 0:
        try:
            become(uid)
            os.kill(-1, signal.SIGKILL)  # spares the one that calls it
        finally:
            os._exit(0)
    os.waitpid(pid, 0)


def in_use(uid: int) -> bool:
    """Whether some process is ``uid``."""
    return any(process.uid == uid for process in processes())


def _foreign(process: Process, found: Mapping[int, Process]) -> bool:
    """Whether a process was not started by this one, as the nearest ancestor that is another user shows."""
    uid = process.uid
    for _ in found:
        if process.parent == os.getpid():
            return False
        if process.parent not in found:  # 0 is outside of the container; another has ended since
            return process.parent == 0
        process = found[process.parent]
        if process.uid != uid:
            return True
    return True


def processes() -> Iterator[Process]:
    """All processes. The folders in /proc of those that are undumpable belong to root, but say whose they are."""
    for name in os.listdir("/proc") if os.path.isdir("/proc") else ():
        with contextlib.suppress(OSError, ValueError), open(f"/proc/{int(name)}/status") as file:
            facts = dict(line.split(":", 1) for line in file)
            yield Process(int(name), int(facts["PPid"]), int(facts["Uid"].split()[0]))


def usable(uid: int, folders: Sequence[str]) -> bool:
    """Whether a process that becomes ``uid`` reaches the current folder, can read ``folders``, and can be ended."""
    ours, theirs = socket.socketpair()
    pid = linux.fork()
    if pid == 0:
        try:
            ours.close()
            become(uid)
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
    done = ours.recv(1) == b"+"
    try:
        os.kill(pid, signal.SIGKILL)
    except PermissionError:
        done = False
    ours.close()
    os.waitpid(pid, 0)
    return done


def _known(uid: int) -> bool:
    with contextlib.suppress(KeyError):
        return bool(pwd.getpwuid(uid))
    return False
