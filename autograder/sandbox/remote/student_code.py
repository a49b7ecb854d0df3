"""Build and call a submission's classes for the checks. Numbers in, numbers out.

A handle has one process, started on first use and again after a crash. Permanent failures (a file that cannot be
imported, a call that hit its limit) are remembered for the whole submission, so that they cost time only once.
"""

from __future__ import annotations

import contextlib
import re
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from autograder.core.assignment import NOTEBOOK, Contract
from autograder.core.text import clean
from autograder.sandbox.remote import replies
from autograder.sandbox.remote.client import (
    Frame,
    Host,
    Operation,
    Process,
    ProcessDied,
    RemoteError,
    RemoteException,
    TimedOut,
    Zygote,
)
from autograder.sandbox.remote.errors import (
    Crashed,
    ImportFailed,
    NotDefined,
    NotImplementedYet,
    Raised,
    StudentError,
    TimeLimitReached,
)
from autograder.sandbox.remote.proxy import ModuleProxy, format_argument
from autograder.sandbox.remote.replies import Answer, Location, SkippedStatements
from autograder.sandbox.remote.wire import WireError

STUB = re.compile(r"[^#]*\braise NotImplementedError\b")  # the line that a stub raises at


@dataclass(slots=True)
class _Record:
    """Facts about a submission that outlive its processes."""

    cpu: float = 0.0
    wall: float = 0.0  # s spent in calls
    idle: float = 0.0  # s of these during which no process computed
    has_odd_reply: bool = False
    output: bytearray = field(default_factory=bytearray)
    permanent_errors: dict[str, StudentError] = field(default_factory=dict)
    slow: set[str] = field(default_factory=set)
    failed_statements: dict[str, list[tuple[tuple[str, ...], RemoteException]]] = field(default_factory=dict)
    defined: dict[str, dict[str, Location]] = field(default_factory=dict)
    skipped_statements: SkippedStatements | None = None
    layers: tuple[str, ...] = ()


class StudentCode:
    """One submission, callable. ``contract`` lists the definitions that the assignment asks for."""

    def __init__(
        self,
        zygote: Zygote,
        files: Mapping[str, bytes],
        contract: Contract,
        record: _Record | None = None,
        parts: Mapping[str, str] | None = None,
    ) -> None:
        self.contract = contract
        self.parts = dict(parts or {})  # sources of the correct classes that replace the student's
        self._zygote, self._files = zygote, dict(files)
        self._record = record or _Record()
        self._process: Process | None = None
        self._counted = 0.0, 0.0  # CPU and idle seconds of this process already in the record
        self._objects = self._released = 0  # objects built so far, and that count at the last release
        self._shared: dict[tuple[str, tuple[int, ...]], ModuleProxy] = {}
        self._replica: StudentCode | None = None
        self._carried: dict[tuple[str, ...], StudentCode] = {}
        self._loaded: set[str] = set()
        self._queued: list[Operation] = []  # operations without a reply, sent with the next call
        self._changed = False  # whether stubs are active

    # --- used by checks ---------------------------------------------------------------------------------------------

    @contextlib.contextmanager
    def fresh_process(self) -> Iterator[StudentCode]:
        """Yield the same submission in a new process without any state."""
        other = self._make_handle(self.parts)
        try:
            yield other
        finally:
            other.close()

    @property
    def replica(self) -> StudentCode:
        """Return the replica: the same submission in a second process, for the other side of a comparison.

        All check files share it. It never sees the first process's inputs, so send it only those it needs.
        """
        if self._replica is None:
            self._replica = self._make_handle(self.parts)
        return self._replica

    def with_parts(self, parts: Mapping[str, str]) -> StudentCode:
        """Return the same submission in another process, with correct classes in place of those in ``parts``.

        ``parts`` are their sources, by name. Without any, this handle is returned.
        """
        if not parts:
            return self
        return self._carried.setdefault(tuple(parts), self._make_handle(parts))

    def _make_handle(self, parts: Mapping[str, str]) -> StudentCode:
        return StudentCode(self._zygote, self._files, self.contract, self._record, parts)

    def defines(self, name: str) -> bool:
        """Return whether the submission defines ``name``. Raises the import's exception if the import failed."""
        module = self._get_module(name)
        if module not in self._record.defined:
            self._load(module)
        return name in self._record.defined[module]

    def require(self, name: str) -> None:
        """Raise NotDefined or ImportFailed unless ``name`` is defined; a failed import raises its own error."""
        self._load(self._get_module(name))
        if not self.defines(name):
            raise self._explain_absence(name)

    def _explain_absence(self, name: str) -> NotDefined:
        """Return the reason that an imported file does not define ``name``."""
        module = self._get_module(name)
        for names, remote in self._record.failed_statements[module]:
            if name in names:
                return ImportFailed(name, self._get_file(module), remote)
        reason = f"{self.file_of(name)} does not define {name}"
        if near := self._find_near_name(name):
            _, line, _ = self._record.defined[module][near]
            reason += f". {near} is defined in line {line}; the assignment asks for {name}"
        return NotDefined(name, name, reason, near)

    def _find_near_name(self, name: str) -> str:
        """Return a definition of the same file whose name is closer to ``name`` than to any other of the contract."""
        found = self._record.defined[self._get_module(name)]
        others = [other for other, (_, line, _) in found.items() if line and other not in self.contract.wanted]
        return next((other for other in others if self.contract.find_closest(other) == name), "")

    def build(
        self, name: str, arguments: Mapping[str, int], seed: int = 0, double: bool = False, apart: bool = False
    ) -> ModuleProxy:
        """Construct a class of the main module in float32 or float64; set ``apart`` if stubs replace whole classes.

        Arguments are passed by name if the constructor has all the names, else by position.
        """
        self.require(name)
        self._objects += 1
        number = self._objects
        sizes = ", ".join(f"{key}={value}" for key, value in arguments.items())
        given = {
            "number": number,
            "module": self.contract.main,
            "name": name,
            "arguments": dict(arguments),
            "seed": seed,
        }
        parameters, methods, is_module = self.call(
            f"{name}({sizes})" + (" on its own" if apart else ""),
            f"{name}.__init__",
            "build",
            given | {"double": double, "width": self.contract.input_width(name, arguments)},
            replies.parse_build,
        )
        if not is_module:
            file, line, _ = self.locate(name)
            text = f"{name} is not an nn.Module"
            raise Raised(name, RemoteException("TypeError", text, "", ("TypeError",), (Frame(file, line, "", ""),)))
        return ModuleProxy(self, self._process, number, name, parameters, methods)

    def shared(self, name: str, arguments: Mapping[str, int]) -> ModuleProxy:
        """Return the object that ``build`` returns, built once per process, for checks that set all weights or only
        read shapes.

        Don't use it if state left by an earlier call matters, such as a mask of that call's length.
        """
        key = name, tuple(arguments.values())
        if key not in self._shared:
            self._shared[key] = self.build(name, arguments)
        return self._shared[key]

    def accepts(self, name: str, argument: str) -> bool:
        """Return whether the constructor of a class of the main module has a parameter of that name."""
        self.require(name)
        return self.call(
            name, name, "accepts", {"module": self.contract.main, "name": name, "argument": argument}, bool
        )

    def use_stubs(self, stubs: Mapping[str, np.ndarray], replace: Sequence[str] = ()) -> None:
        """Make the classes in ``stubs`` compute x @ matrix in this handle's process until ``release``.

        Classes in ``replace`` cannot be built and are replaced entirely.
        """
        self._load(self.contract.main)
        self._changed = True
        given = {"module": self.contract.main, "names": dict(stubs), "replace": list(replace)}
        self.queue("use_stubs", given)

    def constructor_calls(self) -> dict[str, list[dict[str, int]]]:
        """Return the whole numbers that the constructors of the classes with stubs got, call by call."""
        return self.call("stubs", "stubs", "list_constructor_calls", {}, replies.parse_constructor_calls)

    def function(self, name: str, *arguments: Any, seed: int = 0, models: bool = True) -> Any:
        """Call a function of the submission and return its value; a ``ModuleProxy`` argument refers to its object.

        Without ``models``, building an nn.Module raises.
        """
        self.require(name)
        module = self._get_module(name)
        given = [("object", a.number) if isinstance(a, ModuleProxy) else a for a in arguments]
        given_as = ", ".join(map(format_argument, arguments))
        called = {"module": module, "name": name, "arguments": given, "seed": seed, "models": models}
        return self.call(f"{name}({given_as})", name, "call_function", called)

    def function_of_module(
        self, name: str, host: Host, arguments: Sequence[Any], seed: int, makes: bool = False
    ) -> Any:
        """Call a function of the submission with a module that ``host`` computes, and then ``arguments``.

        If the function ``makes`` modules itself, its first argument is a function without arguments that returns one.
        Gradients are enabled, as in a student's own run.
        """
        self.require(name)
        given = {"module": self._get_module(name), "name": name, "arguments": list(arguments), "seed": seed}
        shown = ", ".join(["make_model" if makes else "model", *map(format_argument, arguments)])
        called = given | {"makes": makes}
        return self.call(f"{name}({shown})", name, "call_with_module", called, host=host)

    # --- used by the suite ------------------------------------------------------------------------------------------

    def locate(self, name: str) -> Location:
        """Return a definition's file or cell, the line to look at, and its functions that are still stubs.

        The file could lie about these. Raises NotDefined, ImportFailed, or the import's exception.
        """
        if not self.defines(name):
            raise self._explain_absence(name)
        return self._record.defined[self._get_module(name)][name]

    def file_of(self, name: str) -> str:
        """Return the file that holds, or should hold, the definition of ``name``, for use in a sentence."""
        file = self._get_file(self._get_module(name))
        return "the notebook" if file == NOTEBOOK else file

    @property
    def cpu(self) -> float:
        """Return the CPU seconds used by all processes of this submission."""
        return self._record.cpu

    @property
    def has_odd_reply(self) -> bool:
        """Return whether any reply of this submission had a value that no correct code returns, such as NaN."""
        return self._record.has_odd_reply

    @property
    def output(self) -> str:
        """Return the stored part of the submission's output."""
        return clean(bytes(self._record.output).decode("utf-8", "replace"), self._zygote.limits.output)

    @property
    def failed_statements(self) -> list[tuple[str, RemoteException]]:
        """Return the statements that raised while the files were imported, with their files."""
        return [
            (self._get_file(module), remote)
            for module, found in self._record.failed_statements.items()
            for _, remote in found
        ]

    @property
    def skipped_statements(self) -> SkippedStatements | None:
        """Return the statements of a notebook that were not executed."""
        return self._record.skipped_statements

    @property
    def layers(self) -> tuple[str, ...]:
        """Return the sandbox layers in force."""
        return self._record.layers

    def release(self) -> None:
        """Drop all stubs, and all objects except shared ones that were built without stubs."""
        if self._replica is not None:
            self._replica.release()
        if self._process is None or (self._objects == self._released and not self._changed):
            return
        if self._changed:
            self._shared.clear()
        kept = [module.number for module in self._shared.values()]
        try:
            self.call("release", "forget", "forget", {"but": kept})
            self._released, self._changed = self._objects, False
        except StudentError:
            self.close()

    def close(self) -> None:
        """End this handle's processes; the next call starts another."""
        for handle in (self._replica, *self._carried.values()):
            if handle is not None:
                handle.close()
        if self._process is not None:
            self._process.close()
            self._count_usage(self._process)
            room = self._zygote.limits.output - len(self._record.output)
            self._record.output += self._process.output[: max(0, room)]
            self._process = None
            self._loaded.clear()
            self._shared.clear()
            self._queued.clear()
            self._changed = False

    # --- used by proxies ----------------------------------------------------------------------------------------------

    @property
    def process(self) -> Process | None:
        """Return the current process; objects built in an earlier one are gone."""
        return self._process

    def call(
        self,
        call: str,
        kind: str,
        operation: str,
        arguments: dict[str, Any],
        read: Callable[[Any], Answer] = lambda answer: answer,
        host: Host | None = None,
    ) -> Answer:
        """Make one call within its limits and parse the reply with ``read``; every failure becomes a StudentError."""
        record, limits = self._record, self._zygote.limits
        known = self._key(call)
        if known in record.permanent_errors:
            raise record.permanent_errors[known]
        left = limits.submission_cpu - record.cpu
        if left <= 0:
            raise TimeLimitReached(
                call, f"the submission had already used up its {limits.submission_cpu:g} s of CPU time"
            )
        # A call that only waits uses no CPU time; without this limit every call could wait.
        most = limits.submission_cpu * limits.wall_factor
        if record.wall >= most:
            raise TimeLimitReached(call, f"the submission had already used up its {most:g} s of waiting")
        left_idle = limits.submission_idle - record.idle
        if left_idle <= 0:
            raise TimeLimitReached(
                call, f"the submission had already used up its {limits.submission_idle:g} s of waiting"
            )
        slow = self._key(kind) in record.slow
        cpu = min(limits.again_cpu if slow else limits.call_cpu, left)
        idle = min(limits.again_idle if slow else limits.call_idle, left_idle)
        process = self._start_process(call)
        started = time.monotonic()
        operations = [*self._queued, (operation, arguments)]
        self._queued.clear()
        try:
            answer = process.call(operations, cpu, min(cpu * limits.wall_factor, most - record.wall), idle, host=host)
        except TimedOut as error:
            record.slow.add(self._key(kind))
            record.permanent_errors[known] = TimeLimitReached(
                call, f"no result after {error.limit:g} s of {error.clock}"
            )
            raise record.permanent_errors[known] from None
        except ProcessDied as error:
            raise Crashed(call, f"the Python process died: {error}") from None
        except WireError as error:  # the reply claims more than a frame can hold
            raise Crashed(call, f"the request to the Python process could not be sent: {error}") from None
        except RemoteError as error:
            raise self._translate(call, error.remote) from None
        finally:
            self._count_usage(process)
            record.wall += time.monotonic() - started
            if not process.is_alive:
                self.close()
        record.has_odd_reply = record.has_odd_reply or replies.has_odd_value(answer)
        try:
            return read(answer)
        except (AttributeError, IndexError, KeyError, OverflowError, TypeError, ValueError):
            raise Crashed(call, "the Python process sent an invalid reply") from None

    def queue(self, operation: str, arguments: dict[str, Any]) -> None:
        """Queue an operation without a reply; it runs just before the next call."""
        self._queued.append((operation, arguments))

    # --- internal ---------------------------------------------------------------------------------------------------

    def _key(self, call: str) -> str:
        """Return the key of a call in the record; with correct parts, a call that failed before may succeed."""
        return "+".join((call, *self.parts))

    def _get_module(self, name: str) -> str:
        """Return the module that holds the definition of ``name``; a notebook replaces all missing files."""
        module = self.contract.module(name)
        return self.contract.main if f"{module}.py" not in self._files and NOTEBOOK in self._files else module

    def _get_file(self, module: str) -> str:
        """Return the file of a module."""
        file = f"{module}.py"
        return (
            NOTEBOOK if module == self.contract.main and file not in self._files and NOTEBOOK in self._files else file
        )

    def _load(self, module: str) -> None:
        file = self._get_file(module)
        if file not in self._files:
            raise NotDefined(file, file, f"the submission has no {file}")
        known = self._record.permanent_errors.get(module)
        if known is not None:
            raise known
        if self._process is not None and module in self._loaded:
            return
        for other in {self.contract.module(name) for name in self.contract.names} - {module, self.contract.main}:
            if given := self._get_parts(other):  # before this module imports it
                self.queue("use_parts", given)
        try:
            found = self.call(file, module, "load", {"module": module}, replies.parse_load)
        except StudentError as error:
            self._record.permanent_errors[module] = error
            raise
        self._record.defined[module], self._record.failed_statements[module], skipped = found
        self._record.skipped_statements = self._record.skipped_statements or skipped
        self._loaded.add(module)
        if given := self._get_parts(module):
            self.call(file, module, "use_parts", given)

    def _get_parts(self, module: str) -> dict[str, Any]:
        """Return the arguments that put correct parts into a module; empty if none belong there."""
        own = {name: source for name, source in self.parts.items() if self._get_module(name) == module}
        sources = {name: np.frombuffer(source.encode(), np.uint8) for name, source in own.items()}
        return own and {"module": module, "sources": sources, "contract": list(self.contract.names)}

    def _count_usage(self, process: Process) -> None:
        """Add the process's usage since the last call of this method to the record, including usage between calls."""
        cpu, idle = process.cpu, process.idle
        self._record.cpu += max(0.0, cpu - self._counted[0])
        self._record.idle += idle - self._counted[1]
        self._counted = cpu, idle

    def _start_process(self, call: str) -> Process:
        if self._process is None:
            self._process, self._counted = self._zygote.fork("student"), (0.0, 0.0)
            self._record.layers = self._process.layers
            files = {name: np.frombuffer(data, np.uint8) for name, data in self._files.items()}
            given = {"files": files, "main": self.contract.main, "wanted": list(self.contract.wanted)}
            try:
                self._process.call([("store_files", given)], self._zygote.limits.call_cpu, 60)
            except WireError as error:
                self.close()
                raise Crashed(call, f"the submission's files could not be sent: {error}") from None
            self._count_usage(self._process)
        return self._process

    def _translate(self, call: str, remote: RemoteException) -> StudentError:
        """Translate an exception: NotImplementedError or a missing name of the contract means not implemented."""
        main, names = self.contract.main, self.contract.names
        if "NotImplementedError" in remote.kinds and remote.frames:
            frame = remote.frames[-1]
            owner = frame.where.split(".")[0]
            if owner in names and STUB.match(frame.text):  # torch raises it too, such as for a dtype without a kernel
                return NotImplementedYet(owner, call, frame)
        of_module = "AttributeError" in remote.kinds and remote.text.startswith("module ")
        missing = remote.name if of_module or "NameError" in remote.kinds else ""
        for bound, reason in self._record.failed_statements.get(main, ()):
            if missing in bound and missing not in names:
                return Raised(self._get_file(main), reason)  # the name is missing because its import failed
            if missing in bound:
                return ImportFailed(missing, self._get_file(main), reason)
        if "NameError" in remote.kinds and remote.name in names:
            return NotDefined(
                remote.name, call, f"{remote.name} is used, but {self.file_of(remote.name)} does not define it"
            )
        return Raised(call, remote)
