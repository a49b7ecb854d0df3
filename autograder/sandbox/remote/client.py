"""Control processes from the grader: start a zygote, fork processes from it, call them within limits, kill them.

Nothing here imports torch. A ``Process`` answers one call at a time; each call returns a value or raises one of the
exceptions below.
"""

from __future__ import annotations

import contextlib
import math
import os
import secrets
import selectors
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, NamedTuple, NoReturn, Protocol

from autograder.core.text import clean
from autograder.sandbox.isolation import scratch
from autograder.sandbox.isolation.confine import Limits
from autograder.sandbox.remote import wire
from autograder.sandbox.remote.launch import launch

KILL_TIMEOUT = 5.0  # s to wait for a killed process
REPLY_TIMEOUT = 60.0  # s for the zygote to fork or reap, which normally takes milliseconds
START_TIMEOUT = 120.0  # s for importing torch on a slow disk
MIN_IDLE = 0.25  # s of idle time; less is ignored


Operation = tuple[str, dict[str, Any]]  # name and arguments


class SandboxError(Exception):
    """The grader's own processes failed, which is never the student's fault."""


class TimedOut(Exception):
    """A call exceeded its limit; the process has been killed."""

    def __init__(self, clock: str, limit: float) -> None:
        super().__init__(f"no answer after {limit:g} s of {clock}")
        self.clock, self.limit = clock, limit


class ProcessDied(Exception):
    """The process ended or sent an invalid reply during a call."""


class Frame(NamedTuple):
    """A line of a traceback: file or cell, line, function, source line, and the columns of the code that raised."""

    file: str
    line: int
    where: str
    text: str
    column: int = 0  # from 1; 0 if unknown
    end_column: int = 0


@dataclass(frozen=True, slots=True)
class RemoteException:
    """An exception raised in the process, as data."""

    type: str
    text: str
    name: str
    kinds: tuple[str, ...]
    frames: tuple[Frame, ...]  # the innermost last
    near: str = ""  # a defined name close to the undefined one
    shapes: tuple[tuple[str, tuple[int, ...]], ...] = ()  # of the tensors named on the innermost line


class RemoteError(Exception):
    """Code in the process raised."""

    def __init__(self, remote: RemoteException) -> None:
        super().__init__(f"{remote.type}: {remote.text}")
        self.remote = remote


class Host(Protocol):
    """Answers what a process asks in the middle of a call."""

    def answer(self, question: Any) -> tuple[Any, float]:
        """Return the answer to ``question``, which can be anything, and the CPU seconds that other processes spent."""


class Zygote:
    """A process with torch loaded, from which workers and the oracle are forked. Use as a context manager.

    ``without`` omits sandbox layers (landlock, seccomp, uid), to test the others.
    """

    def __init__(self, limits: Limits | None = None, without: Sequence[str] = ()) -> None:
        self.limits = limits or Limits()
        self.facts: dict[str, Any] = {}
        self._launched = launch(without)
        self._process, self._socket, self.folder, _ = self._launched
        self._oracles: dict[str, Process] = {}  # by module; no student code runs in these processes

    def __enter__(self) -> Zygote:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def pid(self) -> int:
        """Return the zygote's pid."""
        return self._process.pid

    def wait_until_ready(self) -> dict[str, Any]:
        """Wait until torch is loaded; return versions and platform. Raises SandboxError with the reason if it fails."""
        if not self.facts:
            self.facts = self._receive(START_TIMEOUT)
            if self.facts["threads"] != 1:
                raise SandboxError(f"the zygote has {self.facts['threads']} threads, so it cannot be forked safely")
        return self.facts

    def fork(self, role: str, module: str = "", root: str = "") -> Process:
        """Fork a new process in ``role``: "student" (confined), or "oracle", which serves ``module`` in ``root``."""
        self.wait_until_ready()
        try:
            folder = Path(tempfile.mkdtemp(prefix=f"{role}-", dir=self.folder))
        except OSError as error:
            raise SandboxError(f"no folder could be created for a {role} process: {error}") from None
        ours, theirs = socket.socketpair()
        out, into = os.pipe()
        request = {"do": "fork", "role": role, "scratch": str(folder), "limits": asdict(self.limits)}
        request |= {"module": module, "root": root}
        try:
            frame = wire.encode(request)
            socket.send_fds(self._socket, [b"+"], [theirs.fileno(), into])
            self._socket.sendall(frame)
            answer = self._receive(REPLY_TIMEOUT)
        except OSError as error:
            raise SandboxError(f"the zygote is gone: {error}{self._read_log()}") from None
        finally:
            theirs.close()
            os.close(into)
        if "error" in answer:
            ours.close()
            os.close(out)
            scratch.remove(folder)
            raise SandboxError(str(answer["error"]))
        return Process(self, int(answer["pid"]), ours, out, folder)

    def oracle(self, module: str, root: str) -> Process:
        """Return the process that serves the oracle ``module``, shared by all submissions; restart it after a crash."""
        process = self._oracles.get(module)
        if process is None or not process.is_alive:
            process = self._oracles[module] = self.fork("oracle", module, root)
        return process

    def reap(self, pid: int, forked: bool) -> dict[str, Any]:
        """Kill ``pid`` and anything it may have ``forked``, wait for it, and return how it ended."""
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(pid, signal.SIGKILL)
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
        try:
            self._socket.sendall(b"+" + wire.encode({"do": "reap", "pid": pid, "forked": forked}))
        except OSError as error:
            raise SandboxError(f"the zygote is gone: {error}{self._read_log()}") from None
        return self._receive(REPLY_TIMEOUT)

    def close(self) -> None:
        """End the zygote and all its forks."""
        for process in self._oracles.values():
            with contextlib.suppress(SandboxError):
                process.close()
        self._socket.close()
        if self.facts:  # the zygote may have forked: let it kill its children
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._process.wait(KILL_TIMEOUT)
        self._launched.end()

    def _receive(self, timeout: float) -> dict[str, Any]:
        self._socket.settimeout(timeout)
        try:
            header, body = wire.parse_prefix(self._read_exactly(wire.PREFIX.size))
            answer = wire.decode(self._read_exactly(header), self._read_exactly(body))
        except (OSError, EOFError, wire.WireError) as error:
            raise SandboxError(
                f"the process that loads torch did not answer{self._read_log() or f': {error}'}"
            ) from None
        return dict(answer)

    def _read_exactly(self, size: int) -> bytes:
        parts = bytearray()
        while len(parts) < size:
            part = self._socket.recv(size - len(parts))
            if not part:
                raise EOFError("it ended")
            parts += part
        return bytes(parts)

    def _read_log(self) -> str:
        with contextlib.suppress(OSError):  # a student's process may have removed it
            lines = (self.folder / "zygote.log").read_text("utf-8", "replace").strip().splitlines()
            return f": {clean(lines[-1])}" if lines else ""
        return ""


class Process:
    """One forked process and its socket."""

    def __init__(self, zygote: Zygote, pid: int, channel: socket.socket, output: int, folder: Path) -> None:
        self.pid = pid
        self.output = b""
        self.layers: tuple[str, ...] = ()
        self._zygote, self._channel, self._out, self._folder = zygote, channel, output, folder
        self._cap = zygote.limits.output
        self._is_alive, self._cpu_at_end, self._idle_at_end, self._exit = True, 0.0, 0.0, 0
        self._unexplained = 0.0  # s of calls in which neither process computed
        self._delays_before = _measure_delays(pid)
        channel.setblocking(False)
        os.set_blocking(output, False)
        self._selector = selectors.DefaultSelector()
        self._selector.register(output, selectors.EVENT_READ, "output")
        self._selector.register(channel, selectors.EVENT_READ, "channel")
        self._watched = selectors.EVENT_READ
        try:
            self.layers = tuple(self._exchange(b"", KILL_TIMEOUT * 2, REPLY_TIMEOUT)["layers"])
        except ProcessDied as error:
            raise SandboxError(f"a {folder.name.split('-')[0]} process did not start: {error}") from None

    @property
    def is_alive(self) -> bool:
        """Return whether the process can still be called."""
        return self._is_alive

    @property
    def cpu(self) -> float:
        """Return the CPU seconds used so far, as measured by the kernel."""
        if not self._is_alive:
            return self._cpu_at_end
        try:
            # Linux: the CPU clock of a process is its complemented pid, shifted, and 2 for "scheduled time".
            return time.clock_gettime((~self.pid << 3) | 2)
        except OSError:
            return 0.0

    @property
    def idle(self) -> float:
        """Return the seconds of calls in which the process neither computed nor waited for a CPU; 0 if unknown."""
        if not self._is_alive:
            return self._idle_at_end
        return 0.0 if self._unexplained < MIN_IDLE else self._subtract_delays(self._unexplained)

    def call(
        self,
        operations: Sequence[Operation],
        cpu: float,
        wall: float,
        idle: float = math.inf,
        host: Host | None = None,
    ) -> Any:
        """Run ``operations`` in order and return the value of the last; ``host`` answers what they ask meanwhile.

        The limits include the answers. Raises TimedOut or ProcessDied, after which the process is gone, or RemoteError,
        after which the remaining operations are skipped.
        """
        if not self._is_alive:
            raise ProcessDied("its process has already ended")
        nonce = secrets.token_hex(8)
        started, cpu_before, answering = time.monotonic(), self.cpu, 0.0
        answer = self._exchange(wire.encode((nonce, operations)), cpu, wall, idle)
        while host and isinstance(answer, dict) and answer.get("nonce") == nonce and "asks" in answer:
            try:
                value, spent = host.answer(answer["asks"])
            except BaseException:
                self.close()  # it still waits for the answer
                raise
            answering += spent
            left = cpu - answering - (self.cpu - cpu_before)
            try:
                answer = self._exchange(wire.encode(value), left, wall - (time.monotonic() - started), idle)
            except TimedOut as error:
                raise TimedOut(error.clock, cpu if error.clock == "CPU time" else error.limit) from None
        echo = answer.get("nonce") if isinstance(answer, dict) else None
        if not isinstance(echo, str) or echo != nonce or "asks" in answer:
            self._fail("it sent an unrequested reply")
        if "raised" in answer:
            raise RemoteError(parse_exception(answer["raised"]))
        return answer.get("value")

    def close(self) -> None:
        """Kill the process and collect its output; does nothing if it has ended."""
        if not self._is_alive:
            return
        self._idle_at_end = self.idle
        end = self._zygote.reap(self.pid, forked=bool(self.layers) and "seccomp" not in self.layers)
        self._is_alive, self._cpu_at_end, self._exit = False, float(end["cpu"]), int(end["exit"])
        self._drain()
        self._selector.close()
        self._channel.close()
        os.close(self._out)
        started = time.thread_time()
        scratch.remove(self._folder)
        self._cpu_at_end += time.thread_time() - started  # cleaning up counts as the process's own time

    def _exchange(self, frame: bytes, cpu: float, wall: float, idle: float = math.inf) -> Any:
        """Send ``frame`` and receive one; descriptors never block, and the clocks are checked between waits."""
        started, own_before, cpu_before = time.monotonic(), time.thread_time(), self.cpu
        unexplained_before = self._unexplained

        def clocks() -> tuple[float, float, float]:
            """Return the seconds of this call so far: CPU time, total, and those in which neither side computed."""
            spent, passed = self.cpu - cpu_before, time.monotonic() - started
            unexplained = max(0.0, passed - spent - (time.thread_time() - own_before))
            self._unexplained = unexplained_before + unexplained
            return spent, passed, unexplained

        pending, incoming = self._send(memoryview(frame)), wire.FrameReader()
        while True:
            spent, passed, unexplained = clocks()
            for clock, limit, reached in (
                ("CPU time", cpu, spent >= cpu),
                ("waiting", idle, unexplained >= idle and self._subtract_delays(unexplained) >= idle),
                ("waiting", wall, passed >= wall),
            ):
                if reached:
                    self.close()
                    raise TimedOut(clock, limit)
            events = selectors.EVENT_READ | (selectors.EVENT_WRITE if pending else 0)
            if events != self._watched:
                self._selector.modify(self._channel, events, "channel")
                self._watched = events
            for key, mask in self._selector.select(max(0.002, min(cpu - spent, wall - passed, 0.25))):
                if key.data == "output":
                    self._drain()
                    continue
                if mask & selectors.EVENT_WRITE:
                    pending = self._send(pending)
                if not mask & selectors.EVENT_READ:
                    continue
                try:
                    if incoming.receive(self._channel):
                        clocks()
                        return incoming.value()
                except BlockingIOError:
                    continue
                except (EOFError, ConnectionResetError):
                    self._fail(None)
                except wire.WireError as error:
                    self._fail(str(error))

    def _subtract_delays(self, unexplained: float) -> float:
        """Return ``unexplained`` seconds minus those caused by a busy machine; 0 if unknown."""
        now = _measure_delays(self.pid)
        if now is None or self._delays_before is None:
            return 0.0
        return max(0.0, unexplained - (now - self._delays_before))

    def _send(self, pending: memoryview) -> memoryview:
        """Send as much as fits and return the rest. A closed socket is noticed on reading."""
        with contextlib.suppress(BlockingIOError, BrokenPipeError, ConnectionResetError):
            return pending[self._channel.send(pending) :]
        return pending

    def _fail(self, reason: str | None) -> NoReturn:
        """Kill the process and raise ProcessDied with the reason; without one, the process ended by itself."""
        self.close()
        if reason is None:
            killed = signal.Signals(-self._exit).name if self._exit < 0 else ""
            reason = f"it was killed by {killed}" if killed else f"it exited with status {self._exit}"
        raise ProcessDied(reason)

    def _drain(self) -> None:
        """Read the output, keep the first bytes, and drop the rest without blocking the process."""
        for _ in range(16):  # not more at once, so that limits are checked in between
            try:
                part = os.read(self._out, 1 << 16)
            except (BlockingIOError, OSError):
                return
            if not part:
                with contextlib.suppress(KeyError, ValueError):
                    self._selector.unregister(self._out)
                return
            self.output += part[: max(0, self._cap - len(self.output))]


def _measure_delays(pid: int) -> float | None:
    """Return the seconds for which ``pid`` or this thread waited for a CPU or the machine stalled; None if unknown."""
    try:
        _, theirs, _ = Path(f"/proc/{pid}/schedstat").read_text().split()
        _, ours, slices = Path("/proc/thread-self/schedstat").read_text().split()
        with open("/proc/stat") as file:
            ticks = [int(column) for column in file.readline().split()[1:]]
        machine = (ticks[4] + ticks[7]) / os.sysconf("SC_CLK_TCK")  # iowait and steal
        # A kernel without this accounting reports 0 for everything.
        return (int(theirs) + int(ours)) / 1e9 + machine if int(slices) else None
    except (OSError, ValueError, IndexError):
        return None


def _parse_frame(file: Any, line: Any, where: Any, text: Any, column: Any, end_column: Any) -> Frame:
    # A function inside a method, such as a generator expression, is part of that method.
    return Frame(str(file), int(line), str(where).partition(".<")[0], str(text), int(column), int(end_column))


def parse_exception(raised: Any) -> RemoteException:
    """Parse the process's description of an exception; return a bare Exception if it is invalid."""
    try:
        frames = tuple(_parse_frame(*frame) for frame in raised["frames"])
        kinds = tuple(map(str, raised["kinds"]))
        shapes = tuple((str(name), tuple(int(size) for size in shape)) for name, shape in raised["shapes"])
        kind, text, name, near = (str(raised[key]) for key in ("type", "text", "name", "near"))
        return RemoteException(kind, text, name, kinds, frames, near, shapes)
    except (KeyError, IndexError, TypeError, ValueError, OverflowError):
        return RemoteException("Exception", "", "", (), ())
