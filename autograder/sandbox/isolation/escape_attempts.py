"""Attempt to escape the sandbox; the self-test submits this file like student code.

Each function makes one attempt: it returns if that succeeded, and raises OSError if it was denied. A successful
attempt does no harm.
"""

from __future__ import annotations

import fcntl
import os
import socket
import threading
from pathlib import Path


def read(path: str) -> int:
    """Open a file."""
    with open(path, "rb") as file:
        return file.fileno()


def enter(folder: str) -> int:
    """List a folder."""
    return len(os.listdir(folder))


def create(path: str) -> int:
    """Create a file."""
    return Path(path).write_text("left by the self-test")


def overwrite(path: str) -> None:
    """Open an existing file for writing."""
    os.close(os.open(path, os.O_WRONLY))


def touch(path: str) -> None:
    """Change a file's modification time."""
    os.utime(path)


def fork() -> int:
    """Start a process."""
    pid = os.fork()
    if pid == 0:
        os._exit(0)
    os.waitpid(pid, 0)
    return pid


def start_thread() -> None:
    """Start a thread."""
    try:
        threading.Thread(target=int).start()
    except RuntimeError as error:
        raise PermissionError(str(error)) from None


def make_folder() -> None:
    """Create a folder in the scratch folder."""
    os.mkdir("folder")
    os.rmdir("folder")


def lock() -> None:
    """Lock a file that every worker can read."""
    with open(os.__file__, "rb") as file:
        fcntl.lockf(file, fcntl.LOCK_SH | fcntl.LOCK_NB)


def affinity(pid: int) -> int:
    """Read the CPU affinity of another process."""
    return len(os.sched_getaffinity(pid))


def execute() -> None:
    """Execute another program."""
    os.execv("/bin/true", ["true"])


def connect(port: int) -> None:
    """Open a connection."""
    socket.create_connection(("127.0.0.1", port), timeout=5).close()


def send(port: int) -> None:
    """Send a datagram."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sender:
        sender.sendto(b"self-test", ("127.0.0.1", port))


def listen() -> None:
    """Bind a socket that others can reach."""
    with socket.socket(socket.AF_UNIX) as server:
        server.bind("\0autograder-selftest")


def signal(pid: int) -> None:
    """Send signal 0, which only checks for permission."""
    os.kill(pid, 0)
