"""Submissions that attack the sandbox layers, and helpers that observe the result.

A layer that is unavailable to this kernel or user is skipped, with the reason; run as root and as an ordinary user to
test all.
"""

from __future__ import annotations

import errno
import json
import os
import platform
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from autograder.sandbox.isolation import landlock, seccomp
from autograder.sandbox.remote.client import Zygote
from autograder.sandbox.remote.student_code import StudentCode
from tests.conftest import ROOT

Weaker = Callable[..., Zygote]
Hand = Callable[..., StudentCode]
IS_ROOT = os.geteuid() == 0
LANDLOCK = landlock.prepare(str(ROOT))
needs_landlock = pytest.mark.skipif(LANDLOCK is None, reason="this kernel has no Landlock")
needs_seccomp = pytest.mark.skipif(
    not seccomp.is_available() or seccomp.build(opening=True) is None,
    reason="no seccomp filters on this kernel or machine",
)
needs_root = pytest.mark.skipif(not IS_ROOT, reason="only root can become another user")

# The submission of these tests. ``attempt`` returns the name of the kernel's error.
TRY = """
import ctypes, errno, fcntl, os, signal, socket, struct, threading
libc = ctypes.CDLL(None, use_errno=True)

def attempt(code, **names):
    try:
        exec(code, globals(), names)
    except OSError as error:
        return errno.errorcode[error.errno]
    return "done"

def call(number, *arguments):
    result = libc.syscall(ctypes.c_long(number), *map(ctypes.c_long, arguments))
    return errno.errorcode[ctypes.get_errno()] if result == -1 else "done"

def calls(numbers):
    # With arguments that do no harm where a call is not denied: no descriptor, no address and no process is -1.
    return [(number, call(number, -1, -1, -1, -1, -1, -1)) for number in numbers]

def prctl(option, value=0):
    return libc.prctl(option, value, 0, 0, 0)
"""


def run(student: StudentCode, name: str, *arguments: Any) -> Any:
    return student.function(name, *arguments)


def attempt(student: StudentCode, code: str) -> str:
    return str(run(student, "attempt", code))


def process_of(student: StudentCode) -> int:
    """Return the process that answers for ``student``."""
    attempt(student, "pass")
    assert student._process is not None
    return student._process.pid


def status(pid: int) -> dict[str, str]:
    """Return the kernel's status of a process."""
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return {name: value.strip() for name, _, value in (line.partition(":") for line in lines)}


def ended(pid: int, within: float = 5.0) -> bool:
    """Return whether a process ends, or becomes a zombie, ``within`` seconds."""
    until = time.monotonic() + within
    while time.monotonic() < until:
        try:
            if status(pid)["State"].startswith("Z"):
                return True
        except OSError:
            return True
        time.sleep(0.02)
    return False


def in_child(function: Callable[[], Any]) -> Any:
    """Return the value of ``function`` in a separate process, or the name of the kernel's error."""
    reading, writing = os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            try:
                answer = function()
            except OSError as error:
                answer = errno.errorcode[error.errno or 0]
            os.write(writing, json.dumps(answer).encode())
        finally:
            os._exit(0)
    os.close(writing)
    with os.fdopen(reading, "rb") as answered:
        text = answered.read()
    os.waitpid(pid, 0)
    return json.loads(text)


def outcome(function: Callable[..., Any], *arguments: Any) -> str:
    try:
        function(*arguments)
    except OSError as error:
        return errno.errorcode[error.errno or 0]
    return "done"


def numbers(calls: str, machine: str = platform.machine()) -> list[int]:
    return seccomp._parse_numbers(calls, list(seccomp.MACHINES).index(machine))
