"""Test the sandbox before official grading: escape attempts, submitted like student code, must fail.

Layer names only say what was applied; an attempt shows whether it works on this machine. Each successful attempt is
described by a phrase that completes "student code could".
"""

from __future__ import annotations

import os
import secrets
import socket
import tempfile
from collections.abc import Iterable
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from autograder.core.assignment import Contract
from autograder.core.errors import BadInput, Refused
from autograder.core.paths import ROOT
from autograder.sandbox.remote.client import SandboxError, Zygote
from autograder.sandbox.remote.errors import Crashed, Raised
from autograder.sandbox.remote.student_code import StudentCode

ESCAPE_ATTEMPTS = Path(__file__).with_name("escape_attempts.py")


def check(zygote: Zygote, folders: Iterable[Path], accept: bool) -> tuple[str, ...]:
    """Return the escapes possible here if ``accept`` allows them, else raise Refused.

    Raises BadInput if a folder is not writable.
    """
    try:
        found = find_escapes(zygote, folders)
    except OSError as error:
        raise BadInput(f"{error.filename}: {error.strerror}; choose a writable folder") from None
    if found and not accept:
        raise Refused(
            f"not graded: here student code could {', '.join(found)}. "
            "Grade elsewhere, or allow this with --allow-weak-sandbox; the report then records it"
        )
    return found


def find_escapes(zygote: Zygote, folders: Iterable[Path] = ()) -> tuple[str, ...]:
    """Return the escapes that student code could make here; ``folders`` must be out of its reach.

    Raises OSError if a folder is not writable, SandboxError if the self-test itself fails.
    """
    student = StudentCode(
        zygote, {ESCAPE_ATTEMPTS.name: ESCAPE_ATTEMPTS.read_bytes()}, Contract(main=ESCAPE_ATTEMPTS.stem)
    )
    found: list[str] = []
    with ExitStack() as stack:
        stack.callback(student.close)
        listener = stack.enter_context(socket.create_server(("127.0.0.1", 0)))
        for escape, name, arguments in _list_attempts(zygote, folders, listener.getsockname()[1], stack):
            if escape not in found and _succeeds(student, name, arguments):
                found.append(escape)
        layers = student.layers
    # A missing layer also leaves open what is not attempted.
    if "seccomp" not in layers:
        found.append("make system calls that seccomp would deny")
    if not any(layer in ("uid", "no_open") or layer.startswith("landlock") for layer in layers):
        found.append("reach files that Landlock or another user would close")
    return tuple(found)


def _list_attempts(
    zygote: Zygote, folders: Iterable[Path], port: int, stack: ExitStack
) -> Iterable[tuple[str, str, tuple[Any, ...]]]:
    """Yield (escape, function in escape_attempts.py, its arguments); ``execute`` is last, since it ends the process."""
    for folder in (Path(tempfile.mkdtemp(prefix="selftest-", dir=zygote.folder)), *folders):
        file = folder / f".autograder-selftest-{secrets.token_hex(8)}"
        new = file.with_suffix(".new")
        for path in (file, new):
            stack.callback(path.unlink, missing_ok=True)
        file.write_text("self-test")  # created with the user's umask, like a report
        yield "read the grader's files", "read", (str(file),)
        for name, path in (("create", new), ("overwrite", file), ("touch", file)):
            yield "change the grader's files", name, (str(path),)
    yield "read the grader's code", "read", (__file__,)
    yield "read the grader's code", "read", (str(ESCAPE_ATTEMPTS),)
    for file in (*sorted((ROOT / "reference").glob("*.py")), ROOT / "pyproject.toml"):
        if file.exists():
            yield "read the grader's code", "read", (str(file),)
    yield "look into the home folder", "enter", (os.path.expanduser("~"),)
    yield "start processes", "fork", ()
    yield "start threads", "start_thread", ()
    yield "make folders", "make_folder", ()
    yield "send bits to other workers", "lock", ()
    yield "open connections", "connect", (port,)
    yield "open connections", "send", (port,)
    yield "open connections", "listen", ()
    for pid in (os.getpid(), zygote.pid):
        yield "send signals to the grader", "signal", (pid,)
        if hasattr(os, "sched_getaffinity"):
            yield "send bits to other workers", "affinity", (pid,)
        for part in ("environ", "mem", "maps"):
            if os.path.exists(f"/proc/{pid}/{part}"):
                yield "look into the grader's processes", "read", (f"/proc/{pid}/{part}",)
    yield "execute programs", "execute", ()


def _succeeds(student: StudentCode, name: str, arguments: tuple[Any, ...]) -> bool:
    try:
        student.function(name, *arguments)
    except Raised as error:
        if "OSError" in error.remote.kinds:
            return False
        raise SandboxError(f"the sandbox self-test failed at {name}: {error}") from None
    except Crashed:
        return name == "execute"
    return True
