"""Test seccomp alone, and interpret the filters of both machines."""

from __future__ import annotations

import errno
import os
import platform
import struct
from pathlib import Path

import pytest

from autograder.sandbox.isolation import confine, seccomp
from autograder.sandbox.remote.errors import Crashed
from tests.confine.kit import LANDLOCK, Hand, attempt, needs_seccomp, numbers, run

ONLY_SECCOMP = ("landlock", "uid")


@needs_seccomp
@pytest.mark.parametrize("without", [ONLY_SECCOMP, ()], ids=["seccomp alone", "all layers"])
def test_every_call_of_the_table_is_denied(hand_in: Hand, without: tuple[str, ...]) -> None:
    student = hand_in(without=without)
    denied = numbers(seccomp.DENIED_CALLS)
    assert len(denied) > 120
    assert run(student, "calls", denied) == [(number, "EPERM") for number in denied]
    ignored = numbers(seccomp.SYNC_CALLS)
    assert run(student, "calls", ignored) == [(number, "done") for number in ignored]
    unknown = [*numbers(seccomp.NEWER_CALLS), seccomp.LAST + 1, 1000, 0x40000000, 0x40000039]
    assert run(student, "calls", unknown) == [(number, "ENOSYS") for number in unknown]


@needs_seccomp
@pytest.mark.parametrize(
    ("code", "answer"),
    [
        ("os.fork()", "EPERM"),
        ("os.posix_spawn('/bin/true', ['true'], {})", "EPERM"),
        ("os.system('true') == 0 or os.fork()", "EPERM"),
        ("os.execv('/bin/true', ['true'])", "EPERM"),
        ("socket.socket(socket.AF_INET)", "EPERM"),
        ("socket.socket(socket.AF_UNIX)", "EPERM"),
        ("os.kill(os.getppid(), 0)", "EPERM"),
        ("os.kill(-1, 0)", "EPERM"),
        ("os.kill(0, 0)", "EPERM"),
        ("os.killpg(1, 0)", "EPERM"),
        ("os.kill(os.getpid(), 0)", "done"),
        ("os.sched_getaffinity(os.getppid())", "EPERM"),
        ("os.sched_getaffinity(0)", "done"),
        ("os.sched_getparam(os.getppid())", "EPERM"),
        ("os.sched_getscheduler(os.getppid())", "EPERM"),
        ("os.sched_rr_get_interval(os.getppid())", "EPERM"),
        ("os.getpriority(os.PRIO_PROCESS, os.getppid())", "EPERM"),
        ("os.getpriority(os.PRIO_PROCESS, 0)", "done"),
        ("time.clock_gettime(~os.getppid() << 3 | 2)", "EPERM"),
        ("time.clock_getres(~os.getppid() << 3 | 2)", "EPERM"),
        ("time.clock_gettime(time.CLOCK_PROCESS_CPUTIME_ID)", "done"),
        ("time.clock_gettime(time.CLOCK_THREAD_CPUTIME_ID)", "done"),
        ("os.mkdir('folder')", "EPERM"),
        ("os.sync()", "done"),
        ("os.statvfs('.')", "EPERM"),
        ("os.getxattr('.', 'user.x')", "EPERM"),
        ("os.listxattr('/etc/passwd')", "EPERM"),
        ("fcntl.lockf(0, fcntl.LOCK_SH | fcntl.LOCK_NB)", "EPERM"),
        ("fcntl.fcntl(0, 36, bytes(32))", "EPERM"),  # F_OFD_GETLK
        ("fcntl.fcntl(1, 1031, 1 << 20)", "EPERM"),  # F_SETPIPE_SZ
        ("fcntl.fcntl(0, 1035, bytes(8))", "EPERM"),  # F_GET_RW_HINT
        ("fcntl.ioctl(0, 0x40086602, bytes(8))", "EPERM"),  # FS_IOC_SETFLAGS
        ("os.preadv(0, [bytearray(1)], 0, os.RWF_NOWAIT)", "EPERM"),
        ("os.preadv(0, [bytearray(1)], 0)", "done"),
        ("os.posix_fadvise(0, 0, 0, os.POSIX_FADV_DONTNEED)", "EPERM"),
        ("os.open('new', os.O_CREAT | os.O_WRONLY | os.O_SYNC)", "EPERM"),
        ("mmap.mmap(-1, 4096).madvise(21)", "EPERM"),  # MADV_PAGEOUT
        ("mmap.mmap(-1, 4096).madvise(mmap.MADV_DONTNEED)", "done"),
        ("socket.socketpair()[0].getsockopt(socket.SOL_SOCKET, 17)", "EPERM"),  # SO_PEERCRED
        ("signal.raise_signal(0)", "done"),
        ("signal.pthread_kill(threading.get_ident(), 0)", "done"),
        ("resource.prlimit(os.getppid(), resource.RLIMIT_CPU)", "EPERM"),
        ("resource.prlimit(0, resource.RLIMIT_CPU)", "done"),
        ("resource.getrlimit(resource.RLIMIT_CPU)", "done"),
        ("os.setpriority(os.PRIO_PROCESS, os.getppid(), 5)", "EPERM"),
        ("fcntl.fcntl(1, fcntl.F_SETOWN, os.getppid())", "EPERM"),
        ("fcntl.fcntl(1, fcntl.F_SETSIG, 9)", "EPERM"),
        ("fcntl.fcntl(1, fcntl.F_GETFL)", "done"),
        ("fcntl.ioctl(1, 0x8901, struct.pack('i', os.getppid()))", "EPERM"),
        ("os.chmod('.', 0o777)", "EPERM"),
        ("os.utime('.')", "EPERM"),
        ("os.setxattr('.', 'user.x', b'x')", "EPERM"),
        ("os.memfd_create('x')", "EPERM"),
        ("os.open(os.__file__, os.O_RDONLY | os.O_TRUNC)", "EPERM"),
        ("os.close(os.open(os.__file__, os.O_RDONLY))", "done"),
    ],
)
def test_calls_as_python_makes_them(hand_in: Hand, code: str, answer: str) -> None:
    student = hand_in("import mmap, resource, time", without=("uid",) if LANDLOCK else ())
    if LANDLOCK is None and "os.open(" in code:
        pytest.skip("without Landlock no file is opened at all")
    assert attempt(student, code) == answer


@needs_seccomp
def test_a_worker_cannot_cut_itself_loose_from_the_grader(hand_in: Hand) -> None:
    student = hand_in()
    assert run(student, "prctl", 1) == -1  # PR_SET_PDEATHSIG
    assert run(student, "prctl", 4, 1) == -1  # PR_SET_DUMPABLE


@needs_seccomp
@pytest.mark.skipif(platform.machine() != "x86_64", reason="the other way to make system calls is that of x86")
def test_calls_of_another_architecture_end_the_process(hand_in: Hand) -> None:
    student = hand_in("""
        import mmap
        def run():
            code = mmap.mmap(-1, 4096, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
            code.write(bytes.fromhex("b814000000" "cd80" "c3"))  # getpid of 32 bits
            return ctypes.CFUNCTYPE(ctypes.c_int)(ctypes.addressof(ctypes.c_char.from_buffer(code)))()
    """)
    with pytest.raises(Crashed, match=r"SIGSYS|SIGSEGV"):
        run(student, "run")


@needs_seccomp
@pytest.mark.parametrize("without", [("landlock", "uid"), ("landlock",)], ids=["as this user", "as another"])
def test_without_landlock_nothing_is_opened_or_changed(hand_in: Hand, secret: Path, without: tuple[str, ...]) -> None:
    student = hand_in(without=without)
    for path in (secret, Path(confine.__file__), "/proc/self/environ", "/", os.__file__):
        assert attempt(student, f"os.open({str(path)!r}, os.O_RDONLY)") == "ENOENT"
    assert "no_open" in student.layers
    assert attempt(student, "open('new', 'w')") == "ENOENT"
    for code in ("os.mkdir('new')", "os.symlink('/', 'new')", f"os.unlink({str(secret)!r})", "os.rename('.', 'new')"):
        assert attempt(student, code) == "EPERM"
    changing = numbers(seccomp.CHANGE_CALLS)
    assert run(student, "calls", changing) == [(number, "EPERM") for number in changing]
    assert secret.exists()


def interpreted(program: seccomp.Filter, machine: str, number: int, *arguments: int) -> int | str:
    """Return the kernel's action on a call under ``program``: "allow", "kill", or the number of an error."""
    given = [*arguments, 0, 0, 0, 0, 0, 0][:6]
    data = struct.pack("=IIQ6Q", number, seccomp.MACHINES[machine], 0, *given)
    steps = list(struct.iter_unpack("=HBBI", program.code))
    at = value = 0
    while True:
        kind, yes, no, k = steps[at]
        at += 1
        if kind == seccomp.LOAD:
            (value,) = struct.unpack_from("=I", data, k)
        elif kind == seccomp.AND:
            value &= k
        elif kind == seccomp.RETURN:
            return {seccomp.ALLOW: "allow", seccomp.KILL: "kill"}.get(k, k & 0xFFFF)
        else:
            at += yes if (value == k if kind == seccomp.EQUALS else value > k) else no


COMMON = {  # calls that Python and torch make all the time
    "x86_64": [0, 1, 3, 9, 10, 11, 12, 14, 24, 28, 228, 230, 318, 334],
    "aarch64": [63, 64, 57, 222, 226, 215, 214, 135, 124, 233, 113, 115, 278, 293],
}


@pytest.mark.parametrize("machine", seccomp.MACHINES)
@pytest.mark.parametrize("opening", [True, False])
def test_the_filter_decides_alike_on_both_machines(machine: str, opening: bool) -> None:
    program = seccomp.build(opening, machine)
    assert program is not None

    def verdicts(calls: str, *arguments: int) -> set[int | str]:
        return {interpreted(program, machine, number, *arguments) for number in numbers(calls, machine)}

    assert verdicts(seccomp.DENIED_CALLS) == {errno.EPERM}
    assert verdicts(seccomp.NEWER_CALLS) == {errno.ENOSYS}
    assert verdicts(seccomp.OPEN_CALLS) == ({"allow"} if opening else {errno.ENOENT})
    assert verdicts(seccomp.CHANGE_CALLS) == ({"allow"} if opening else {errno.EPERM})
    assert {interpreted(program, machine, number) for number in COMMON[machine]} == {"allow"}
    assert verdicts(seccomp.SYNC_CALLS) == {0}
    assert verdicts("clone 56 220", 0x3D0F00) == {errno.EPERM}
    for call, allowed, denied in (
        ("prctl 157 167", 15, 1),
        ("prlimit64 302 261", 0, 1),
        ("sched_setaffinity 203 122", 0, 1),
        ("sched_getaffinity 204 123", 0, 1),
        ("clock_gettime 228 113", 7, -6 & seccomp.ALL_BITS),
        ("kill 62 129", seccomp.OWN_PID, 1),
        ("tgkill 234 131", seccomp.OWN_PID, 1),
    ):
        assert verdicts(call, allowed & seccomp.ALL_BITS) == {"allow"}
        assert verdicts(call, denied) == {errno.EPERM}
    for call, allowed, denied in (
        ("fcntl 72 25", 3, 8),
        ("fcntl 72 25", 3, 6),
        ("ioctl 16 29", 0x5401, 0x8901),
        ("futex 202 98", 128, 0),
        ("futex 202 98", 128 + 9, 9),
    ):
        assert verdicts(call, 0, allowed) == {"allow"}
        assert verdicts(call, 0, denied) == {errno.EPERM}
    if opening:
        assert verdicts("openat 257 56", 0, 0, os.O_RDONLY | os.O_TRUNC) == {errno.EPERM}
        assert verdicts("openat 257 56", 0, 0, os.O_WRONLY | os.O_TRUNC) == {"allow"}
        assert verdicts("openat 257 56", 0, 0, os.O_WRONLY | os.O_DSYNC) == {errno.EPERM}
    assert interpreted(program, machine, 0x40000000) == errno.ENOSYS
    other = next(name for name in seccomp.MACHINES if name != machine)
    assert interpreted(program, other, 0) == "kill"


def test_a_machine_without_a_table_has_no_filter() -> None:
    assert seccomp.build(opening=True, machine="riscv64") is None
