"""Test processes that try to outlive their worker, and processes that must be out of reach."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from autograder.assignment import ASSIGNMENT
from autograder.sandbox.isolation import users
from tests.confine.kit import IS_ROOT, TRY, Hand, Weaker, attempt, ended, needs_root, needs_seccomp, numbers, run
from tests.conftest import ROOT

DAEMON = """
def daemon():
    reading, writing = os.pipe()
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            prctl(1)  # no PDEATHSIG
            os.write(writing, str(os.getpid()).encode())
            os.closerange(0, 64)
            signal.pause()
        os._exit(0)
    os.wait()
    return int(os.read(reading, 20))
"""


@pytest.mark.parametrize("without", [("seccomp",), ("seccomp", "uid"), ("seccomp", "landlock")])
def test_a_daemon_is_gone_when_its_submission_is(hand_in: Hand, without: tuple[str, ...]) -> None:
    student = hand_in(DAEMON, without)
    started = run(student, "daemon")
    assert not ended(started, 0.05)
    student.close()
    assert ended(started, 0.5)


@needs_root
def test_chains_of_processes_cannot_outrun_the_sweep(hand_in: Hand) -> None:
    student = hand_in(
        """
        def chains():
            for _ in range(20):
                try:
                    if os.fork() == 0: link()
                except OSError: pass
            return os.getuid()
        def link():
            os.setsid()
            while True:
                try:
                    if os.fork(): os._exit(0)
                except OSError: pass
        """,
        without=("seccomp",),
    )
    attempt(student, "pass")
    if "uid" not in student.layers:
        pytest.skip("other users cannot read the libraries of this Python")
    uid = run(student, "chains")
    assert users.has_processes(uid)
    student.close()
    until = time.monotonic() + 5
    while users.has_processes(uid):  # a killed process takes a moment to disappear
        assert time.monotonic() < until


@needs_root
def test_who_is_someone_else_is_neither_taken_nor_ended() -> None:
    uid = users.Pool().take()  # the uid is free again at once
    assert uid is not None
    own = subprocess.Popen(["sleep", "600"], user=uid, group=uid, extra_groups=[])
    try:
        child = os.fork()  # the other process is not a child of this one
        if child == 0:
            try:
                users.kill_all(uid)
            finally:
                os._exit(0)
        os.waitpid(child, 0)
        assert own.poll() is None
        assert users.Pool().take() != uid
        users.kill_all(uid)
        assert own.wait(5) == -signal.SIGKILL
    finally:
        own.kill()
        own.wait()


GRADER = """
import os, signal, sys
sys.path.insert(0, ROOT)
from autograder.assignment import ASSIGNMENT
from autograder.core.assignment import Contract
from autograder.sandbox.remote.client import Zygote
from autograder.sandbox.remote.student_code import StudentCode
with Zygote(without=WITHOUT) as zygote:
    student = StudentCode(zygote, {"gpt.py": SOURCE}, Contract(main="gpt"))
    oracle = zygote.oracle(ASSIGNMENT.oracle, str(ASSIGNMENT.root))
    started = student.function(FUNCTION)
    print(zygote.folder, zygote.pid, oracle.pid, student._process.pid, started, flush=True)
    signal.pause()
"""


@pytest.mark.parametrize("without", [(), ("seccomp",), ("landlock", "seccomp", "uid")], ids=["all", "two", "none"])
def test_a_grader_that_is_killed_leaves_no_process_and_no_folder(without: tuple[str, ...]) -> None:
    if "seccomp" in without:
        source, function = TRY + DAEMON, "daemon"
    else:
        source = f"{TRY}\ndef stay():\n    prctl(1)\n    signal.signal(signal.SIGALRM, spin)\n"
        source = f"{source}    signal.setitimer(signal.ITIMER_REAL, 0.01)\n    return os.getpid()\n"
        source, function = f"{source}def spin(*_):\n    while True: pass\n", "stay"
    values = {"ROOT": str(ROOT), "WITHOUT": without, "SOURCE": source.encode(), "FUNCTION": function}
    script = "\n".join(f"{name} = {value!r}" for name, value in values.items()) + GRADER
    with subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True) as grader:
        assert grader.stdout is not None
        folder, *pids = grader.stdout.readline().split()
        assert len(pids) == 4
        grader.send_signal(signal.SIGKILL)
    for pid in map(int, pids):
        assert ended(pid)
    assert not Path(folder).exists()


@needs_seccomp
def test_the_oracle_is_out_of_reach(hand_in: Hand, weaker: Weaker) -> None:
    student = hand_in()
    oracle = weaker().oracle(ASSIGNMENT.oracle, str(ASSIGNMENT.root))
    try:
        assert attempt(student, f"os.kill({oracle.pid}, 0)") == "EPERM"
        for part in ("mem", "environ", "fd", "fd/3", "root/etc/passwd", "cwd"):
            code = f"os.open('/proc/{oracle.pid}/{part}', os.O_RDONLY)"
            assert attempt(student, code) in ("EACCES", "ENOENT")
        (ptrace, attach), (look,) = (numbers("ptrace 101 117")[0], 16), numbers("process_vm_readv 310 270")
        assert run(student, "call", ptrace, attach, oracle.pid) == "EPERM"
        assert run(student, "call", look, oracle.pid) == "EPERM"
        if IS_ROOT:  # the only user who can inspect the process
            opened = sorted(int(fd.name) for fd in Path(f"/proc/{oracle.pid}/fd").iterdir())
            assert opened[:3] == [0, 1, 2]
            assert len(opened) == 4
    finally:
        oracle.close()
