"""Load torch once and fork workers on request. This process has no secret and runs no student code.

It runs as a clean interpreter and talks to the grader over one socket. A request gives a role and the descriptors of
the new process; the reply is its pid. Dead children stay zombies until the grader reaps them, so that a pid never
means two processes. Processes left by a student's process become children of this one, which kills them.
"""

from __future__ import annotations

import contextlib
import gc
import importlib
import os
import pkgutil
import platform
import signal
import socket
import sys
import time
import warnings
from collections.abc import Collection
from types import ModuleType
from typing import Any, NoReturn

from autograder.sandbox.isolation import confine, scratch, syscalls
from autograder.sandbox.isolation.users import has_processes, kill_all, list_processes
from autograder.sandbox.remote import wire

# Modules that students may import; those with side effects on import are excluded.
PRELOADED = [
    *("torch.optim", "torch.utils.data", "torch.utils.checkpoint", "torch.utils.serialization"),
    *("einops", "tqdm", "matplotlib.pyplot", "xml.dom.minidom", "xml.etree.ElementTree"),
]
SWEEP_TIMEOUT = 2.0  # s to kill leftover processes of a submission
SIDE_EFFECTS = {"antigravity", "idlelib", "lib2to3", "this", "tkinter", "turtle", "turtledemo"}


def main(fd: int, root: str, without: Collection[str] = ()) -> None:
    """Serve requests on the socket ``fd`` until the grader ends; the current folder is its scratch folder.

    ``root`` contains the grader's package; ``without`` names sandbox layers to omit.
    """
    Server(fd, root, without).serve()


class Server:
    """The forked processes and their users."""

    def __init__(self, fd: int, root: str, without: Collection[str]) -> None:
        self._control = socket.socket(fileno=fd)
        self._children: dict[int, int | None] = {}
        signal.signal(signal.SIGTERM, self._leave)
        confine.die_with_parent(signal.SIGTERM)
        with contextlib.suppress(OSError):
            syscalls.prctl(syscalls.PR_SET_CHILD_SUBREAPER, 1)
        sys.path.remove(root)  # the package is loaded, and students must not find it there
        self._plan = confine.plan(root, without)  # forks to test layers, which is cheap while this process is small
        facts = _load_torch()
        # Load the worker before forking, but never the oracle: no student's process may have it in memory.
        importlib.import_module("autograder.sandbox.remote.worker")
        if self._plan.opens_nothing:
            _preload()
        with contextlib.suppress(OSError):
            confine.make_undumpable()  # inherited by all forks
        gc.collect()
        gc.freeze()  # so that the collector makes no fork copy pages
        gc.set_threshold(20_000)  # objects; at 700 the collector would run dozens of times per submission
        wire.write(fd, wire.encode(facts | {"threads": _count_threads()}))

    def serve(self) -> NoReturn:
        """Answer requests until the grader ends."""
        while True:
            # The descriptors arrive with the first byte of a request.
            first, descriptors, _, _ = socket.recv_fds(self._control, 1, 4)
            if not first:
                self._leave()
            request = wire.read(self._control.fileno())
            answer = self._fork(request, descriptors) if request["do"] == "fork" else self._reap(request)
            wire.write(self._control.fileno(), wire.encode(answer))

    def _fork(self, request: dict[str, Any], descriptors: list[int]) -> dict[str, Any]:
        pool = self._plan.users if request["role"] == "student" else None
        uid = pool.take() if pool else None
        try:
            pid = syscalls.fork()
        except OSError as error:
            if pool and uid is not None:
                pool.give_back(uid)
            return {"error": f"no process could be started: {error.strerror}"}
        else:
            if pid == 0:
                _run_fork(request, descriptors, self._plan, uid)
            self._children[pid] = uid
            return {"pid": pid}
        finally:
            for descriptor in descriptors:
                os.close(descriptor)

    def _reap(self, request: dict[str, Any]) -> dict[str, Any]:
        """Reap a killed child, and kill its own children if it could fork."""
        pid = request["pid"]
        _, status, usage = os.wait4(pid, 0)
        uid = self._children.pop(pid)
        if request["forked"]:
            self._sweep(uid)
        if uid is not None and self._plan.users and not (request["forked"] and has_processes(uid)):
            self._plan.users.give_back(uid)
        return {"exit": os.waitstatus_to_exitcode(status), "cpu": usage.ru_utime + usage.ru_stime}

    def _sweep(self, uid: int | None) -> None:
        """Kill the processes of ``uid`` and all strays."""
        if uid is not None:
            kill_all(uid)
        until = time.monotonic() + SWEEP_TIMEOUT
        while strays := self._find_strays():
            for pid in strays:
                _kill(pid)
            if time.monotonic() > until:  # the processes fork faster than they are found
                return

    def _find_strays(self) -> list[int]:
        """Return the adopted children: processes whose parent, a student's process, has ended."""
        return [p.pid for p in list_processes() if p.parent == os.getpid() and p.pid not in self._children]

    def _leave(self, *_: object) -> NoReturn:
        """Kill all processes, remove the scratch folder and exit, since the grader has ended."""
        signal.signal(signal.SIGTERM, signal.SIG_IGN)  # may arrive before or after the socket closes
        for pid in self._children:
            _kill(pid)
        users = set(self._children.values())
        self._children.clear()
        for uid in users:
            self._sweep(uid)
        scratch.remove(os.getcwd())
        os._exit(0)


def _kill(pid: int) -> None:
    with contextlib.suppress(OSError):
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)


def _load_torch() -> dict[str, Any]:
    """Load torch, including its lazily loaded parts, before anything is confined."""
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

    import numpy.random  # else numpy loads it lazily in every worker

    # Loaded now, since a confined worker may be unable to open files.
    del ast, inspect, linecache, math, random, traceback, typing, numpy
    return {
        "torch": torch.__version__,
        "python": platform.python_version(),
        "platform": f"{sys.platform}-{platform.machine()}",
    }


def _count_threads() -> int:
    return len(os.listdir("/proc/self/task")) if os.path.isdir("/proc/self/task") else 1


def _preload() -> None:
    """Load the modules that student code may import once no file can be opened: the standard library, more of torch."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name in sorted(sys.stdlib_module_names - SIDE_EFFECTS):
            module = _import(name)
            for part in pkgutil.iter_modules(getattr(module, "__path__", ())):
                _import(f"{name}.{part.name}")  # includes encodings of source files
        for name in PRELOADED:
            _import(name)

        import torch

        # The first step loads a thousand more modules.
        torch.optim.AdamW([torch.nn.Parameter(torch.ones(1))]).step()


def _import(name: str) -> ModuleType | None:
    """Import a module if possible; skip private ones and those that would run a program."""
    with contextlib.suppress(Exception):
        return None if "_" in (name[0], name.rpartition(".")[2][0]) else importlib.import_module(name)
    return None


def _run_fork(request: dict[str, Any], descriptors: list[int], plan: confine.Plan, uid: int | None) -> NoReturn:
    """Turn this fork into the requested process."""
    status = 1
    try:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        channel, output = descriptors
        os.setsid()
        # Opened here, since an inherited descriptor shares its flags with all other processes.
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
        os.dup2(output, 1)
        os.dup2(output, 2)
        if request["role"] == "student":
            from autograder.sandbox.remote import worker

            worker.main(channel, request, plan, uid)
        else:
            sys.path.insert(0, request["root"])
            _serve_oracle(channel, request["module"])
        status = 0
    finally:
        os._exit(status)


def _serve_oracle(channel: int, module: str) -> None:
    """Answer questions with ``module.Operations``, unconfined since no student code runs in this process."""
    from autograder.sandbox.remote import rpc

    operations = importlib.import_module(module).Operations()
    confine.close_all_but(channel)  # the grader's other descriptors belong to student processes
    wire.write(channel, wire.encode({"layers": []}))
    rpc.serve(channel, operations)
