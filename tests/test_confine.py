"""Each layer of confinement denies by itself what it is there for, and honest code does not notice any of them.

A layer that this kernel or user does not have is skipped, with the reason; run as root and as another user to see all.
"""

from __future__ import annotations

import errno
import glob
import json
import os
import platform
import signal
import socket
import struct
import subprocess
import sys
import textwrap
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from autograder.sandbox import confine, landlock, linux, seccomp, uids
from autograder.sandbox.errors import Crashed, Raised
from autograder.sandbox.process import Zygote
from autograder.sandbox.student import Student
from tests.conftest import ROOT

Weaker = Callable[..., Zygote]
Hand = Callable[..., Student]
IS_ROOT = os.geteuid() == 0
LANDLOCK = landlock.prepare(str(ROOT))
needs_landlock = pytest.mark.skipif(LANDLOCK is None, reason="this kernel has no Landlock")
needs_seccomp = pytest.mark.skipif(
    not seccomp.available() or seccomp.build(opening=True) is None,
    reason="no seccomp filters on this kernel or machine",
)
needs_root = pytest.mark.skipif(not IS_ROOT, reason="only root can become another user")

# What the tests hand in. ``attempt`` says how the kernel answered, in the name of the error.
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
    return {number: call(number, -1, -1, -1, -1, -1, -1) for number in numbers}

def prctl(option, value=0):
    return libc.prctl(option, value, 0, 0, 0)
"""


@pytest.fixture
def hand_in(weaker: Weaker) -> Iterator[Hand]:
    """A student, confined by all layers, or ``without`` some: ``hand_in(text, without=["seccomp"])``."""
    students = []

    def hand_in(text: str = "", without: tuple[str, ...] = ()) -> Student:
        files = {"gpt.py": (TRY + textwrap.dedent(text)).encode()}
        students.append(Student(weaker(*without), files, []))
        return students[-1]

    yield hand_in
    for student in students:
        student.close()


def run(student: Student, name: str, *arguments: Any) -> Any:
    return student.function(name, *arguments, module="gpt")


def attempt(student: Student, code: str) -> str:
    return str(run(student, "attempt", code))


def process_of(student: Student) -> int:
    """The process that answers for ``student``."""
    attempt(student, "pass")
    assert student._process is not None
    return student._process.pid


def status(pid: int) -> dict[str, str]:
    """What the kernel says about a process."""
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return {name: value.strip() for name, _, value in (line.partition(":") for line in lines)}


def ended(pid: int, within: float = 5.0) -> bool:
    """Whether a process is gone, or has ended and waits to be collected, ``within`` seconds."""
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
    """What ``function`` returns in a process of its own, or the name of the error with which the kernel refused."""
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


# --- resource limits --------------------------------------------------------------------------------------------------


def test_the_limits_that_held_are_those_of_the_process(hand_in: Hand) -> None:
    student = hand_in("import resource\ndef limit(name): return resource.getrlimit(getattr(resource, name))")
    limits = confine.Limits()
    assert run(student, "limit", "RLIMIT_CPU") == (limits.submission_cpu + 1, limits.submission_cpu + 2)
    assert run(student, "limit", "RLIMIT_AS") == (limits.memory,) * 2
    assert run(student, "limit", "RLIMIT_CORE") == (0, 0)
    assert {"cpu", "as", "fsize", "nofile", "core"} <= set(student.held)


def test_no_file_grows_beyond_its_limit(hand_in: Hand) -> None:
    student = hand_in(without=("landlock", "seccomp"))
    assert attempt(student, "open('large', 'wb').write(bytes(1 << 22))") == "EFBIG"


def test_descriptors_run_out(hand_in: Hand) -> None:
    student = hand_in("""
        def fill():
            for count in range(1000):
                try: os.dup(0)
                except OSError as error: return count, errno.errorcode[error.errno]
    """)
    assert run(student, "fill") == (confine.Limits().open_files - 4, "EMFILE")


# --- privileges -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("without", [(), ("uid",), ("landlock",)], ids=lambda without: "without " + "".join(without))
def test_no_privilege_is_left_and_none_can_be_gained(hand_in: Hand, without: tuple[str, ...]) -> None:
    facts = status(process_of(hand_in(without=without)))
    assert int(facts["CapEff"], 16) == int(facts["CapPrm"], 16) == 0
    assert facts["NoNewPrivs"] == "1"


def test_other_processes_cannot_look_into_a_worker_the_oracle_or_the_zygote(hand_in: Hand, weaker: Weaker) -> None:
    student = hand_in(without=("landlock", "seccomp", "uid"))
    assert run(student, "prctl", 3) == 0  # PR_GET_DUMPABLE
    zygote = weaker("landlock", "seccomp", "uid")
    oracle = zygote.fork("oracle")
    try:
        for pid in (zygote.pid, oracle.pid):
            code = f"os.open('/proc/{pid}/mem', os.O_RDONLY)"
            assert attempt(student, code) == "EACCES"
    finally:
        oracle.close()


# --- another user -----------------------------------------------------------------------------------------------------


@needs_root
@needs_seccomp
def test_each_worker_is_a_user_of_its_own_in_no_group_with_a_scratch_folder_of_its_own(hand_in: Hand) -> None:
    # Without Landlock this is so even where other users cannot read Python's library.
    code = "def who(): return os.getresuid(), os.getresgid(), os.getgroups(), os.stat('.').st_uid, os.getcwd()"
    one = hand_in(code, without=("landlock",))
    uids, gids, groups, owner, folder = run(one, "who")
    assert "uid" in one.held
    assert len({*uids, *gids, owner}) == 1
    assert uids[0] != 0
    assert groups == []
    assert os.stat(folder).st_mode & 0o077 == 0
    with one.fresh() as other:
        used = run(other, "who")[0][0]
        assert used != uids[0]
    with one.fresh() as another:  # the number of a worker that has ended is used again
        assert run(another, "who")[0][0] == used


@needs_root
def test_another_user_is_in_no_group_of_root() -> None:
    def inside() -> list[int]:
        os.setgroups([0, 4242])
        uids.become(uids.FIRST)
        return os.getgroups()

    assert in_child(inside) == []


@needs_root
@needs_seccomp
def test_two_graders_never_share_a_user(hand_in: Hand) -> None:
    code = "def who(): return os.getuid()"
    one = hand_in(code, without=("landlock",))
    run(one, "who")
    with Zygote(without=("landlock",)) as zygote:
        other = Student(zygote, {"gpt.py": (TRY + code).encode()}, [])
        assert run(other, "who") != run(one, "who")


@needs_root
@needs_seccomp
def test_threads_run_out_where_the_worker_is_a_user_of_its_own(hand_in: Hand) -> None:
    student = hand_in(
        """
        def run():
            threading.stack_size(1 << 16)  # or memory runs out first
            wait = threading.Event()
            try:
                for count in range(1000): threading.Thread(target=wait.wait, daemon=True).start()
            except RuntimeError:
                return count
        """,
        without=("landlock",),
    )
    assert run(student, "run") < confine.PROCESSES


@needs_root
def test_a_user_that_cannot_read_the_libraries_is_not_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "libraries"
    folder.mkdir(mode=0o700)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [str(folder)])
    for path in (tmp_path, *tmp_path.parents[:-2]):
        path.chmod(0o711)
    assert confine.plan(str(ROOT)).uids is None
    folder.chmod(0o755)
    assert confine.plan(str(ROOT)).uids is not None


# --- files, by Landlock alone -----------------------------------------------------------------------------------------

ONLY_LANDLOCK = ("seccomp", "uid")


@pytest.fixture
def secret(tmp_path: Path) -> Path:
    """A file that anyone may read, were it not for Landlock."""
    path = tmp_path / "secret.txt"
    path.write_text("secret")
    return path


@needs_landlock
def test_nothing_but_libraries_can_be_read(hand_in: Hand, secret: Path, weaker: Weaker) -> None:
    student = hand_in(without=ONLY_LANDLOCK)
    places = [
        *(secret, secret.parent, Path(confine.__file__), ROOT / "reference" / "gpt.py", ROOT / "reference", ROOT),
        *(Path.home(), "/", "/etc/passwd", "/proc", "/proc/self/maps", f"/proc/{os.getpid()}/environ", "/dev/shm"),
        weaker(*ONLY_LANDLOCK).folder,
    ]
    for place in places:
        assert attempt(student, f"os.open({str(place)!r}, os.O_RDONLY)") == "EACCES", place


@needs_landlock
def test_the_scratch_folder_of_another_worker_is_closed(hand_in: Hand) -> None:
    one = hand_in("def write():\n    open('mine', 'w').write('x')\n    return os.getcwd()", without=ONLY_LANDLOCK)
    folder = run(one, "write")
    with one.fresh() as other:
        assert attempt(other, f"open('{folder}/mine')") == "EACCES"
        assert attempt(other, f"os.listdir('{folder}')") == "EACCES"
        assert attempt(other, f"open('{folder}/yours', 'w')") == "EACCES"


@needs_landlock
@pytest.mark.parametrize(
    "code",
    [
        "open(path, 'a')",
        "os.unlink(path)",
        "os.rename(path, path + '.old')",
        "os.mkdir(path + '.folder')",
        "os.link(path, 'here')",
        "os.symlink(path, 'here')",
        "open(path + '.new', 'w')",
    ],
)
def test_nothing_outside_the_scratch_folder_can_be_changed(hand_in: Hand, secret: Path, code: str) -> None:
    student = hand_in(without=ONLY_LANDLOCK)
    assert attempt(student, code.replace("path", repr(str(secret)))) in ("EACCES", "EXDEV")
    assert [path.name for path in secret.parent.iterdir()] == [secret.name]
    assert secret.read_text() == "secret"


@needs_landlock
def test_python_and_its_packages_cannot_be_changed(hand_in: Hand) -> None:
    student = hand_in(without=ONLY_LANDLOCK)
    for path in (os.__file__, pytest.__file__):
        assert attempt(student, f"open({path!r}, 'a')") == "EACCES"


@needs_landlock
def test_no_program_can_be_executed(hand_in: Hand) -> None:
    student = hand_in(without=ONLY_LANDLOCK)
    for program in (sys.executable, "/bin/true", *glob.glob("/lib*/ld-linux-*")):  # the last can be read
        assert attempt(student, f"os.execv({program!r}, ['x'])") == "EACCES"


@pytest.mark.skipif(LANDLOCK is None or LANDLOCK.abi < 4, reason="Landlock covers the network since ABI 4")
def test_no_tcp_connection_is_opened_or_accepted(hand_in: Hand) -> None:
    student = hand_in(without=ONLY_LANDLOCK)
    assert attempt(student, "socket.create_connection(('127.0.0.1', 9))") == "EACCES"
    assert attempt(student, "socket.socket().bind(('127.0.0.1', 0))") == "EACCES"


@pytest.mark.skipif(LANDLOCK is None or LANDLOCK.abi < 6, reason="Landlock covers signals since ABI 6")
def test_no_signal_leaves(hand_in: Hand, weaker: Weaker) -> None:
    student = hand_in(without=ONLY_LANDLOCK)
    for pid in (os.getpid(), weaker(*ONLY_LANDLOCK).pid):
        assert attempt(student, f"os.kill({pid}, 0)") == "EPERM"


@needs_landlock
@pytest.mark.parametrize("abi", range(1, 1 + (LANDLOCK.abi if LANDLOCK else 1)))
def test_every_version_closes_files_and_leaves_the_scratch_folder(tmp_path: Path, secret: Path, abi: int) -> None:
    scratch = tmp_path / "scratch"
    scratch.mkdir()

    def inside() -> list[str]:
        linux.prctl(linux.PR_SET_NO_NEW_PRIVS, 1)
        landlock.Policy(abi, ((str(Path(os.__file__).parent), landlock.READ),)).apply(str(scratch))
        (scratch / "folder").mkdir()
        (scratch / "file").write_text("x")
        (scratch / "file").unlink()
        return [
            outcome(open, os.__file__),
            outcome(open, secret),
            outcome(open, os.__file__, "a"),
            outcome(os.listdir, tmp_path),
            outcome(os.truncate, secret, 0) if abi >= 3 else "EACCES",
            outcome(open, "/dev/null", "w"),
            outcome(socket.socket().bind, ("127.0.0.1", 0)),
            outcome(os.kill, os.getppid(), 0),
        ]

    network, signals = "EACCES" if abi >= 4 else "done", "EPERM" if abi >= 6 else "done"
    assert in_child(inside) == ["done", *["EACCES"] * 4, "done", network, signals]
    assert secret.read_text() == "secret"


@needs_landlock
@pytest.mark.parametrize("editable", [False, True], ids=["installed", "editable"])
def test_the_package_is_hidden_where_it_is_installed_among_libraries(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, editable: bool
) -> None:
    for name in ("autograder/oracle.py", "reference/gpt.py", "torch/nn.py", "single.py"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("x = 1")
    (tmp_path / "link").symlink_to(tmp_path / "autograder")
    (tmp_path / "self").symlink_to(tmp_path)
    if editable:
        (tmp_path / "pyproject.toml").write_text("")
    monkeypatch.setattr(sys, "path", [*sys.path, str(tmp_path)])
    policy = landlock.prepare(str(tmp_path))
    assert policy is not None

    def inside() -> dict[str, str]:
        linux.prctl(linux.PR_SET_NO_NEW_PRIVS, 1)
        policy.apply("/nowhere")
        names = ("autograder/oracle.py", "link/oracle.py", "self/autograder/oracle.py", "torch/nn.py", "single.py")
        return {name: outcome(open, tmp_path / name) for name in names}

    hidden = "EACCES" if editable else "done"
    assert in_child(inside) == {
        **dict.fromkeys(("autograder/oracle.py", "link/oracle.py", "self/autograder/oracle.py"), "EACCES"),
        "torch/nn.py": hidden,
        "single.py": hidden,
    }


# --- system calls, by seccomp alone -----------------------------------------------------------------------------------

ONLY_SECCOMP = ("landlock", "uid")


def numbers(calls: str, machine: str = platform.machine()) -> list[int]:
    return seccomp._numbers(calls, list(seccomp.MACHINES).index(machine))


@needs_seccomp
@pytest.mark.parametrize("without", [ONLY_SECCOMP, ()], ids=["seccomp alone", "all layers"])
def test_every_call_of_the_table_is_denied(hand_in: Hand, without: tuple[str, ...]) -> None:
    student = hand_in(without=without)
    denied = numbers(seccomp.DENIED)
    assert len(denied) > 80
    assert run(student, "calls", denied) == dict.fromkeys(denied, "EPERM")
    unknown = [*numbers(seccomp.UNKNOWN), seccomp.LAST + 1, 1000, 0x40000000, 0x40000039]
    assert run(student, "calls", unknown) == dict.fromkeys(unknown, "ENOSYS")


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
    student = hand_in("import resource", without=("uid",) if LANDLOCK else ())
    if LANDLOCK is None and "os.open" in code:
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
    assert "no_open" in student.held
    assert attempt(student, "open('new', 'w')") == "ENOENT"
    for code in ("os.mkdir('new')", "os.symlink('/', 'new')", f"os.unlink({str(secret)!r})", "os.rename('.', 'new')"):
        assert attempt(student, code) == "EPERM"
    changing = numbers(seccomp.CHANGING)
    assert run(student, "calls", changing) == dict.fromkeys(changing, "EPERM")
    assert secret.exists()


# --- the filter of both machines, interpreted -------------------------------------------------------------------------


def interpreted(program: seccomp.Filter, machine: str, number: int, *arguments: int) -> int | str:
    """What the kernel does with a call under ``program``: "allow", "kill", or the number of an error."""
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
    "x86_64": [0, 1, 3, 9, 10, 11, 12, 14, 24, 28, 202, 228, 230, 318, 334],
    "aarch64": [63, 64, 57, 222, 226, 215, 214, 135, 124, 233, 98, 113, 115, 278, 293],
}


@pytest.mark.parametrize("machine", seccomp.MACHINES)
@pytest.mark.parametrize("opening", [True, False])
def test_the_filter_decides_alike_on_both_machines(machine: str, opening: bool) -> None:
    program = seccomp.build(opening, machine)
    assert program is not None

    def verdicts(calls: str, *arguments: int) -> set[int | str]:
        return {interpreted(program, machine, number, *arguments) for number in numbers(calls, machine)}

    assert verdicts(seccomp.DENIED) == {errno.EPERM}
    assert verdicts(seccomp.UNKNOWN) == {errno.ENOSYS}
    assert verdicts(seccomp.OPENING) == ({"allow"} if opening else {errno.ENOENT})
    assert verdicts(seccomp.CHANGING) == ({"allow"} if opening else {errno.EPERM})
    assert {interpreted(program, machine, number) for number in COMMON[machine]} == {"allow"}
    assert verdicts("clone 56 220", 17) == {errno.EPERM}
    assert verdicts("clone 56 220", 0x3D0F00) == {"allow"}
    for call, allowed, denied in (
        ("prctl 157 167", 15, 1),
        ("prlimit64 302 261", 0, 1),
        ("sched_setaffinity 203 122", 0, 1),
        ("kill 62 129", seccomp.OWN, 1),
        ("tgkill 234 131", seccomp.OWN, 1),
    ):
        assert verdicts(call, allowed & seccomp.ANY) == {"allow"}
        assert verdicts(call, denied) == {errno.EPERM}
    for call, allowed, denied in (("fcntl 72 25", 3, 8), ("ioctl 16 29", 0x5401, 0x8901)):
        assert verdicts(call, 0, allowed) == {"allow"}
        assert verdicts(call, 0, denied) == {errno.EPERM}
    if opening:
        assert verdicts("openat 257 56", 0, 0, os.O_RDONLY | os.O_TRUNC) == {errno.EPERM}
        assert verdicts("openat 257 56", 0, 0, os.O_WRONLY | os.O_TRUNC) == {"allow"}
    assert interpreted(program, machine, 0x40000000) == errno.ENOSYS
    other = next(name for name in seccomp.MACHINES if name != machine)
    assert interpreted(program, other, 0) == "kill"


def test_a_machine_without_a_table_has_no_filter() -> None:
    assert seccomp.build(opening=True, machine="riscv64") is None


# --- processes that try to stay ---------------------------------------------------------------------------------------

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
    if "uid" not in student.held:
        pytest.skip("other users cannot read the libraries of this Python")
    uid = run(student, "chains")
    assert uids.in_use(uid)
    student.close()
    until = time.monotonic() + 5
    while uids.in_use(uid):  # what has been killed takes a moment to be gone
        assert time.monotonic() < until


@needs_root
def test_who_is_someone_else_is_neither_taken_nor_ended() -> None:
    uid = uids.Pool().take()  # free again at once
    assert uid is not None
    own = subprocess.Popen(["sleep", "600"], user=uid, group=uid, extra_groups=[])
    try:
        child = os.fork()  # whose child the other one is not
        if child == 0:
            try:
                uids.kill_all(uid)
            finally:
                os._exit(0)
        os.waitpid(child, 0)
        assert own.poll() is None
        assert uids.Pool().take() != uid
        uids.kill_all(uid)
        assert own.wait(5) == -signal.SIGKILL
    finally:
        own.kill()
        own.wait()


GRADER = """
import os, signal, sys
sys.path.insert(0, ROOT)
from autograder.sandbox.process import Zygote
from autograder.sandbox.student import Student
with Zygote(without=WITHOUT) as zygote:
    student = Student(zygote, {"gpt.py": SOURCE}, [])
    oracle = zygote.fork("oracle")
    started = student.function(FUNCTION, module="gpt")
    print(zygote.folder, zygote.pid, oracle.pid, student._process.pid, started, flush=True)
    signal.pause()
"""


@pytest.mark.parametrize("without", [(), ("seccomp",), ("landlock", "seccomp", "uid")], ids=["all", "two", "none"])
def test_a_grader_that_is_killed_leaves_no_process_and_no_folder(without: tuple[str, ...]) -> None:
    if "seccomp" in without:
        source, function = TRY + DAEMON, "daemon"
    else:
        source = f"{TRY}\ndef stay():\n    prctl(1)\n    threading.Thread(target=spin, daemon=True).start()\n"
        source, function = f"{source}    return os.getpid()\ndef spin():\n    while True: pass\n", "stay"
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


# --- the oracle -------------------------------------------------------------------------------------------------------


@needs_seccomp
def test_the_oracle_is_out_of_reach(hand_in: Hand, weaker: Weaker) -> None:
    student = hand_in()
    oracle = weaker().fork("oracle")
    try:
        assert attempt(student, f"os.kill({oracle.pid}, 0)") == "EPERM"
        for part in ("mem", "environ", "fd", "fd/3", "root/etc/passwd", "cwd"):
            code = f"os.open('/proc/{oracle.pid}/{part}', os.O_RDONLY)"
            assert attempt(student, code) in ("EACCES", "ENOENT")
        (ptrace, attach), (look,) = (numbers("ptrace 101 117")[0], 16), numbers("process_vm_readv 310 270")
        assert run(student, "call", ptrace, attach, oracle.pid) == "EPERM"
        assert run(student, "call", look, oracle.pid) == "EPERM"
        if IS_ROOT:  # who alone can look into it
            opened = sorted(int(fd.name) for fd in Path(f"/proc/{oracle.pid}/fd").iterdir())
            assert opened[:3] == [0, 1, 2]
            assert len(opened) == 4
    finally:
        oracle.close()


# --- honest code ------------------------------------------------------------------------------------------------------

HONEST = """
import dataclasses, math, random, typing
import torch
import torch.nn.functional as F
from torch import nn

optimizer = torch.optim.AdamW([nn.Parameter(torch.ones(2))])

def optimizes():
    with torch.enable_grad():
        weight = nn.Parameter(torch.ones(2))
        one = torch.optim.AdamW([weight], lr=0.1)
        weight.sum().backward()
        one.step()
    return bool((weight < 1).all())

def absent(name):
    try:
        __import__(name)
    except ImportError as error:
        return str(error)

def no_file():
    try:
        open("input.txt")
    except FileNotFoundError as error:
        return str(error)

def threads():
    torch.set_num_threads(2)
    x = torch.ones(700, 700)
    done = []
    thread = threading.Thread(target=lambda: done.append(1))
    thread.start()
    thread.join()
    return torch.get_num_threads(), float((x @ x)[0, 0]), done

def computes():
    x = torch.randn(2, 3, 8)
    F.scaled_dot_product_attention(x, x, x, is_causal=True)
    nn.TransformerEncoderLayer(8, 2, batch_first=True)(x)
    return torch.cuda.is_available(), torch.linalg.qr(x)[0].shape, torch.fft.fft(x).shape

def lazy():
    import collections.abc, csv, decimal, difflib, fractions, hashlib, html.parser, sqlite3, ssl, statistics, unittest
    from torch.utils.data import DataLoader, TensorDataset
    from torch.utils.checkpoint import checkpoint
    return len(list(DataLoader(TensorDataset(torch.ones(4, 2)), batch_size=2)))
"""

AS_OTHERS = [(), ("uid",), ("landlock",)]


@pytest.mark.parametrize("without", AS_OTHERS, ids=lambda without: "without " + "".join(without))
def test_honest_code_does_not_notice(hand_in: Hand, without: tuple[str, ...]) -> None:
    student = hand_in(HONEST, without)
    assert run(student, "optimizes")
    assert student.troubles == []
    assert run(student, "absent", "no_such_library") == "No module named 'no_such_library'"
    if "no_open" in student.held:  # what cannot be opened is absent, which code is prepared for
        assert run(student, "absent", "hypothesis") == "No module named 'hypothesis'"
    assert run(student, "no_file") == "[Errno 2] No such file or directory: 'input.txt'"
    assert run(student, "threads") == (2, 700.0, [1])
    assert run(student, "computes") == (False, (2, 3, 3), (2, 3, 8))
    assert run(student, "lazy") == 2


@needs_landlock
def test_files_can_be_kept_in_the_scratch_folder(hand_in: Hand) -> None:
    student = hand_in("""
        import tempfile, pathlib
        import torch
        def run():
            torch.save({"x": torch.ones(2)}, "model.pt")
            os.mkdir("folder")
            os.rename("model.pt", "folder/model.pt")
            with tempfile.TemporaryDirectory() as folder:
                pathlib.Path(folder, "log.txt").write_text("x")
            pathlib.Path.home().joinpath("note").write_text("x")
            return torch.load("folder/model.pt")["x"], sorted(os.listdir("."))
    """)
    loaded, names = run(student, "run")
    assert loaded.tolist() == [1.0, 1.0]
    assert names == ["folder", "note"]


@needs_seccomp
def test_what_starts_processes_says_that_it_may_not(hand_in: Hand) -> None:
    student = hand_in("import subprocess\ndef run(): subprocess.run(['nvidia-smi'])")
    with pytest.raises(Raised, match="PermissionError"):
        run(student, "run")
