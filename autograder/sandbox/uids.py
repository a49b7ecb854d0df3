"""Another user for each worker, where the grader runs as root: its files, signals and processes are then its own.

The kernel counts processes by user, and a leftover is found by its user, so no two workers on a machine may have the
same. That holds across graders: whoever takes a number binds a name for it, which the kernel frees with the process.
"""

from __future__ import annotations

import contextlib
import os
import pwd
import signal
import socket
from collections.abc import Sequence

from autograder.sandbox import linux

FIRST, COUNT = 60_000, 500


class Pool:
    """The users that this process has taken, each free or in use."""

    def __init__(self) -> None:
        self._taken: dict[int, socket.socket] = {}
        self._free: list[int] = []

    def take(self) -> int | None:
        """A user that nobody is; None where all are in use."""
        if self._free:
            return self._free.pop()
        for uid in range(FIRST, FIRST + COUNT):
            if uid in self._taken or _known(uid):
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
    """End every process of ``uid`` at once, so that none can start another meanwhile."""
    pid = os.fork()
    if pid == 0:
        try:
            become(uid)
            os.kill(-1, signal.SIGKILL)  # spares the one that calls it
        finally:
            os._exit(0)
    os.waitpid(pid, 0)


def usable(uid: int, folders: Sequence[str]) -> bool:
    """Whether a process that becomes ``uid`` reaches the current folder, can read ``folders``, and can be ended."""
    ours, theirs = socket.socketpair()
    pid = os.fork()
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
