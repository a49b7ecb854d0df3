"""Make system calls that Python lacks, through the C library; outside Linux each raises OSError."""

from __future__ import annotations

import ctypes
import errno
import functools
import os
import platform
import struct
import sys
import time
from typing import Any

PR_SET_PDEATHSIG = 1
PR_SET_DUMPABLE = 4
PR_SET_SECCOMP = 22
PR_SET_CHILD_SUBREAPER = 36
PR_SET_NO_NEW_PRIVS = 38
CAPSET = {"x86_64": 126, "aarch64": 91}
CAPABILITIES = 0x20080522  # the version of capset's arguments
PAUSES = (0.1, 0.3, 1.0)  # s before a fork is tried again


def prctl(option: int, value: int, pointer: Any = None) -> None:
    """Set an attribute of this process. Raises OSError if the kernel refuses."""
    _raise_if_failed(
        _load_libc().prctl(option, ctypes.c_ulong(value), pointer or ctypes.c_ulong(0), *[ctypes.c_ulong(0)] * 2)
    )


def drop_capabilities() -> None:
    """Drop every capability of root. Raises OSError if the kernel refuses or the machine is unknown."""
    number = CAPSET.get(platform.machine())
    if number is None:
        raise OSError(errno.ENOSYS, "the number of capset is not known")
    header = ctypes.create_string_buffer(struct.pack("=Ii", CAPABILITIES, 0))
    syscall(number, header, ctypes.create_string_buffer(24))


def syscall(number: int, *arguments: Any) -> int:
    """Make a system call by number. Raises OSError if the kernel refuses."""
    return _raise_if_failed(
        _load_libc().syscall(number, *(ctypes.c_long(a) if isinstance(a, int) else a for a in arguments))
    )


def fork() -> int:
    """Fork, retrying a few times if the process limit is reached. Raises OSError."""
    for pause in PAUSES:
        try:
            return os.fork()
        except OSError:
            time.sleep(pause)
    return os.fork()


def _raise_if_failed(result: int) -> int:
    if result == -1:
        code = ctypes.get_errno()
        raise OSError(code, os.strerror(code))
    return result


@functools.cache
def _load_libc() -> Any:
    if sys.platform != "linux":
        raise OSError(errno.ENOSYS, "not Linux")
    libc = ctypes.CDLL(None, use_errno=True)
    libc.syscall.restype = ctypes.c_long
    return libc
