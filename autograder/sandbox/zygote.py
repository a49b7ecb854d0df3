"""The process that loads torch once and forks a worker for whoever asks. It never holds a secret or student code.

Executed as a clean interpreter; talks to the grader over one socket. A request names a role and brings the descriptors
of the new process; the answer is its pid. Dead children stay zombies until the grader has them reaped, so that a pid
never means two processes.
"""

from __future__ import annotations

import gc
import importlib
import os
import platform
import shutil
import signal
import socket
import sys
from typing import Any, NoReturn

from autograder.sandbox import confine, wire

# The worker is loaded before the forks; the oracle's module never is, so that no student's process has it in memory.
ROLES = {"student": "autograder.sandbox.worker", "oracle": "autograder.oracle.server"}


def main(fd: int) -> None:
    """Serve requests on the socket ``fd`` until the grader is gone; the current folder is its scratch folder."""
    signal.signal(signal.SIGTERM, _leave)
    confine.die_with_parent(signal.SIGTERM)
    control = socket.socket(fileno=fd)
    facts = _warm()
    importlib.import_module(ROLES["student"])
    gc.collect()
    gc.freeze()  # the forks then copy no page just because the collector touched it
    wire.write(fd, wire.encode(facts))
    while True:
        # The descriptors come with the first byte of a request.
        first, descriptors, _, _ = socket.recv_fds(control, 1, 4)
        if not first:
            _leave()
        request = wire.read(fd)
        if request["do"] == "fork":
            pid = os.fork()
            if pid == 0:
                _become(request, descriptors, control)
            for descriptor in descriptors:
                os.close(descriptor)
            wire.write(fd, wire.encode({"pid": pid}))
        else:
            wire.write(fd, wire.encode(_reap(request["pid"])))


def _leave(*_: object) -> NoReturn:
    """The grader is gone, however it ended: take its scratch folder along. The workers die with this process."""
    shutil.rmtree(os.getcwd(), ignore_errors=True)
    os._exit(0)


def _warm() -> dict[str, Any]:
    """Load torch and touch what is loaded lazily, while nothing is confined yet."""
    import torch

    torch.set_num_threads(1)
    x = torch.ones(2, 3, 4, requires_grad=True)
    layer = torch.nn.Sequential(torch.nn.Linear(4, 4), torch.nn.GELU(), torch.nn.LayerNorm(4))
    torch.nn.functional.cross_entropy(layer(x).flatten(0, 1), torch.zeros(6, dtype=torch.long)).backward()  # type: ignore[no-untyped-call]
    torch.nn.functional.scaled_dot_product_attention(x, x, x, is_causal=True)
    torch.multinomial(torch.softmax(torch.ones(2, 3), -1), 1)
    import ast
    import inspect
    import linecache
    import math
    import random
    import traceback
    import typing

    import numpy.random

    del (
        ast,
        inspect,
        linecache,
        math,
        numpy,
        random,
        traceback,
        typing,
    )  # loaded now; a confined worker may find no file
    return {
        "torch": torch.__version__,
        "python": platform.python_version(),
        "platform": f"{sys.platform}-{platform.machine()}",
        "threads": len(os.listdir("/proc/self/task")) if os.path.isdir("/proc/self/task") else 1,
    }


def _become(request: dict[str, Any], descriptors: list[int], control: socket.socket) -> None:
    """Turn this fork into the process that was asked for; never returns."""
    status = 1
    try:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        control.close()
        channel, output = descriptors
        os.setsid()
        os.dup2(output, 1)
        os.dup2(output, 2)
        os.close(output)
        module = importlib.import_module(ROLES[request["role"]])
        module.main(channel, request)
        status = 0
    finally:
        os._exit(status)


def _reap(pid: int) -> dict[str, Any]:
    _, status, usage = os.wait4(pid, 0)
    return {"exit": os.waitstatus_to_exitcode(status), "cpu": usage.ru_utime + usage.ru_stime}
