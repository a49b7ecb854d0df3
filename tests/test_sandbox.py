"""Test that whatever student code does, a call returns a value or raises StudentError, and nothing else changes."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import pytest

from autograder.core.assignment import Contract
from autograder.sandbox.isolation import landlock, scratch, syscalls
from autograder.sandbox.remote import client, launch
from autograder.sandbox.remote.client import SandboxError, Zygote
from autograder.sandbox.remote.errors import Crashed, NotImplementedYet, Raised, StudentError, TimeLimitReached
from autograder.sandbox.remote.launch import INHERITED_VARIABLES
from autograder.sandbox.remote.student_code import StudentCode
from autograder.sandbox.remote.wire import Opaque
from tests.conftest import ROOT, Hand, Limit, run
from tests.processes import ends, living

needs_schedstat = pytest.mark.skipif(
    client._measure_delays(os.getpid()) is None, reason="this kernel does not tell idle time"
)

# --- values and exceptions --------------------------------------------------------------------------------------------


def test_a_value_comes_back_and_arrays_arrive_as_tensors(hand_in: Hand) -> None:
    student = hand_in("""
        import torch
        class Model: pass
        def run(x, n): return x.sum() + n, isinstance(x, torch.Tensor), x.half(), x.int(), Model()
    """)
    total, is_tensor, half, whole, model = run(student, np.arange(4.0), 1)
    assert (total, is_tensor, half.dtype, whole.dtype) == (7.0, True, np.float32, np.int64)
    assert model == Opaque("Model")


def test_an_exception_comes_back_with_the_students_own_frames_line_and_text(hand_in: Hand) -> None:
    helper = """
        def add(a, b):
            # \x0c and \u2028 end no line of Python
            return a + b
    """
    gpt = "import torch\nfrom helper import add\ndef run():\n    return add(torch.ones(2), torch.ones(3))"
    with pytest.raises(Raised, match="size of tensor") as error:
        run(hand_in(gpt, helper=helper))
    assert error.value.remote.type == "RuntimeError"
    assert error.value.remote.frames == (
        ("gpt.py", 4, "run", "return add(torch.ones(2), torch.ones(3))", 12, 45),
        ("helper.py", 4, "add", "return a + b", 12, 17),
    )


def test_a_syntax_error_comes_back_with_its_line(hand_in: Hand) -> None:
    with pytest.raises(StudentError) as error:
        run(hand_in("x = 1\ndef run(:\n"))
    assert error.value.remote.frames == (("gpt.py", 2, "", "def run(:", 9, 10),)  # type: ignore[attr-defined]


def test_a_stub_is_unwritten_under_the_name_of_its_definition(hand_in: Hand) -> None:
    student = hand_in("""
        class Block:
            def __init__(self, d): raise NotImplementedError()
        class GPT:
            def __init__(self, d): self.block = Block(d)
    """)
    with pytest.raises(NotImplementedYet) as error:
        student.build("GPT", {"d": 3})
    assert error.value.name == "Block"


PID = "import os\ndef pid(): return os.getpid()\n"


@pytest.mark.parametrize("code", ["raise SystemExit(0)", "exit()", "raise KeyboardInterrupt", "raise BaseException"])
def test_an_exit_is_an_answer_and_the_process_lives_on(hand_in: Hand, code: str) -> None:
    student = hand_in(f"{PID}def run(): {code}")
    before = run(student, name="pid")
    with pytest.raises(Raised):
        run(student)
    assert run(student, name="pid") == before


@pytest.mark.parametrize(
    ("code", "how"),
    [
        ("os._exit(0)", "exited with status 0"),
        ("os.abort()", "SIGABRT"),
        ("ctypes.string_at(0)", "SIGSEGV"),
        ("os.kill(os.getpid(), 9)", "SIGKILL"),
        ("os.closerange(3, 64)", "died"),
    ],
)
def test_a_death_is_crashed_and_the_next_call_starts_a_new_process(hand_in: Hand, code: str, how: str) -> None:
    student = hand_in(f"import ctypes\n{PID}def run(): {code}")
    before = run(student, name="pid")
    with pytest.raises(Crashed, match=how):
        run(student)
    assert run(student, name="pid") != before


# --- limits -----------------------------------------------------------------------------------------------------------

SPINS = [sys.executable, "-c", "while True: pass"]
SPIN = "def run(n):\n    while True: n += 1\ndef other(): return 1"


def test_an_endless_loop_runs_out_of_time_once_and_its_like_get_less(hand_in: Hand, limit: Limit) -> None:
    student = hand_in(SPIN)
    assert run(student, name="other") == 1
    limit(call_cpu=0.8, again_cpu=0.1)
    with pytest.raises(TimeLimitReached, match=r"after 0\.8 s of CPU time"):
        run(student, 1)
    used = student.cpu
    assert used >= 0.8
    with pytest.raises(TimeLimitReached, match=r"after 0\.8 s of CPU time"):
        run(student, 1)
    assert student.cpu < used + 0.4  # at most the time to load the file
    with pytest.raises(TimeLimitReached, match=r"after 0\.1 s of CPU time"):
        run(student, 2)
    assert run(student, name="other") == 1


def test_the_submission_as_a_whole_has_a_limit(hand_in: Hand, limit: Limit) -> None:
    student = hand_in(SPIN)
    assert student.defines("run")
    limit(call_cpu=0.3, again_cpu=0.3, submission_cpu=0.5)
    for n in range(2):
        with pytest.raises(TimeLimitReached, match="no result"):
            run(student, n)
    with pytest.raises(TimeLimitReached, match="used up"):
        run(student, 2)


@pytest.mark.parametrize(
    "code", ["time.sleep(600)", "os.kill(os.getpid(), signal.SIGSTOP)", "lock.acquire(); lock.acquire()"]
)
def test_waiting_for_ever_is_ended_by_the_wall_limit(hand_in: Hand, limit: Limit, code: str) -> None:
    student = hand_in(f"import os, signal, threading, time\nlock = threading.Lock()\ndef run(): {code}")
    assert student.defines("run")
    limit(call_cpu=0.3, wall_factor=2.0)
    with pytest.raises(TimeLimitReached, match=r"after 0\.6 s of waiting"):
        run(student)


@needs_schedstat
def test_waiting_is_ended_early_and_once_more_at_once(hand_in: Hand, limit: Limit) -> None:
    student = hand_in("import time\ndef run(n): time.sleep(600)")
    assert student.defines("run")
    limit(call_idle=0.6, again_idle=0.3)
    started = time.monotonic()
    with pytest.raises(TimeLimitReached, match=r"after 0\.6 s of waiting"):
        run(student, 1)
    with pytest.raises(TimeLimitReached, match=r"after 0\.3 s of waiting"):
        run(student, 2)
    assert time.monotonic() - started < 4


@needs_schedstat
def test_short_waits_add_up(hand_in: Hand, limit: Limit) -> None:
    student = hand_in("import time\ndef run(n): time.sleep(0.2)")
    assert student.defines("run")
    limit(submission_idle=1.0)
    for n in range(3):
        run(student, n)
    time.sleep(0.5)  # constructing an object is not a call
    run(student, 3)
    with pytest.raises(TimeLimitReached, match=r"used up its 1 s of waiting"):
        _run_often(student)


def _run_often(student: StudentCode) -> None:
    for n in range(20):  # on a busy CPU, less than the 0.2 s of a call may count
        run(student, n)


@needs_schedstat
def test_waiting_for_a_busy_cpu_is_not_idle_time(hand_in: Hand, limit: Limit) -> None:
    student = hand_in("""
        import time
        def run(seconds):
            until = time.process_time() + seconds
            while time.process_time() < until: pass
            return "done"
    """)
    assert student.defines("run")
    limit(call_cpu=3.0, call_idle=0.5, submission_idle=0.5, wall_factor=100.0)
    busy = [subprocess.Popen(SPINS, start_new_session=True) for _ in range(4 * (os.cpu_count() or 1))]
    try:
        started = time.monotonic()
        assert run(student, 0.8) == "done"
        assert time.monotonic() - started > 1.6  # the process did have to wait
        assert run(student, 0.2) == "done"
    finally:
        for client in busy:
            client.kill()
            client.wait()


def test_where_idle_time_is_unknown_the_wall_limit_ends_waiting(
    hand_in: Hand, limit: Limit, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(client, "_measure_delays", lambda pid: None)
    student = hand_in("import time\ndef run(): time.sleep(600)")
    assert student.defines("run")
    limit(call_idle=0.1, call_cpu=0.3, wall_factor=3.0)
    with pytest.raises(TimeLimitReached, match=r"after 0\.9 s of waiting"):
        run(student)


def test_cpu_time_between_calls_counts(hand_in: Hand) -> None:
    student = hand_in("""
        import signal, time
        def spin(*_):
            until = time.process_time() + 0.5
            while time.process_time() < until: pass
        def run():
            signal.signal(signal.SIGALRM, spin)
            signal.setitimer(signal.ITIMER_REAL, 0.05)
        def other(): pass
    """)
    run(student)
    time.sleep(0.8)
    run(student, name="other")
    assert student.cpu > 0.5


def test_waiting_in_every_call_is_ended_by_the_wall_limit_of_the_whole(hand_in: Hand, limit: Limit) -> None:
    student = hand_in("import time\ndef run(n): time.sleep(0.4)")
    assert student.defines("run")
    limit(call_cpu=0.2, again_cpu=0.2, wall_factor=3.0, submission_cpu=0.4)
    started = time.monotonic()
    ended = []
    for n in range(20):
        with contextlib.suppress(TimeLimitReached):
            ended.append(run(student, n))
    assert len(ended) < 4
    assert time.monotonic() - started < 3


@pytest.mark.parametrize(
    "code",
    ["[bytearray(1 << 28) for _ in range(100)]", "torch.ones(1 << 34)", "torch.zeros(1, 1).expand(1 << 20, 1 << 14)"],
    ids=["many blocks", "one tensor", "large only when sent"],
)
def test_a_memory_bomb_fails_by_itself(hand_in: Hand, code: str, limit: Limit) -> None:
    limit(call_cpu=30.0)  # a busy machine may take seconds to allocate two gigabytes
    student = hand_in(f"import torch\ndef run(): return {code}\ndef other(): return 1")
    with pytest.raises((Raised, Crashed)):
        run(student)
    assert run(student, name="other") == 1


# --- output -----------------------------------------------------------------------------------------------------------


def test_printed_output_is_kept_in_order_and_defused(hand_in: Hand) -> None:
    student = hand_in("""
        import os, sys
        print("on loading")
        def run():
            print("é\\x1b[31mred\\u202e", flush=True)
            os.write(2, b"raw \\xff\\n")
            print("last", file=sys.stderr, flush=True)
            os._exit(0)
    """)
    with pytest.raises(Crashed):
        run(student)
    assert [line[:1] for line in student.output.splitlines()] == ["o", "é", "r", "l"]
    assert not set(student.output) & set("\x1b\u202e")


def test_a_flood_of_output_is_cut_and_neither_blocks_nor_fails_the_student(hand_in: Hand, zygote: Zygote) -> None:
    student = hand_in("""
        def run():
            for n in range(100): print(f"{n:>4}" + "x" * 100_000)
            return "done"
    """)
    assert run(student) == "done"
    student.close()
    assert zygote.limits.output - 1 <= len(student.output) <= zygote.limits.output
    assert student.output.startswith("   0xxx")


def test_an_endless_flood_of_output_does_not_put_off_the_limit(hand_in: Hand, limit: Limit) -> None:
    student = hand_in("""
        import os
        def run():
            while True: os.write(1, b"x" * 65536)
    """)
    assert student.defines("run")
    limit(call_cpu=0.5)
    with pytest.raises(TimeLimitReached):
        run(student)
    assert student.cpu < 10


# --- what is visible inside, and what is left -------------------------------------------------------------------------


def test_the_environment_inside_is_the_graders_own(hand_in: Hand, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SECRET_OF_THE_GRADER", "1")
    environment, argv = run(hand_in("import os, sys\ndef run(): return dict(os.environ), sys.argv"))
    threads = {name for name in environment if name.endswith(("_NUM_THREADS", "_THREAD_LIMIT"))}
    assert set(environment) - threads <= {
        "PATH",
        "HOME",
        "TMPDIR",
        "MPLCONFIGDIR",
        "TORCHINDUCTOR_CACHE_DIR",
        "LC_ALL",
        "PYTHONHASHSEED",
        *INHERITED_VARIABLES,
    }
    assert {environment[name] for name in threads} == {"1"}
    assert argv == ["gpt.py"]


def test_no_module_of_the_grader_can_be_imported(hand_in: Hand) -> None:
    student = hand_in("""
        import sys
        def run(): return [name for name in sys.modules if name.split(".")[0] == "autograder"], sys.path
        def get(): import autograder
    """)
    found, path = run(student)
    assert found == []
    assert not {str(ROOT), ""} & set(path)
    with pytest.raises(Raised, match="No module named 'autograder'"):
        run(student, name="get")


def test_exactly_four_descriptors_are_open_inside(hand_in: Hand) -> None:
    student = hand_in("""
        import os, stat
        def run():
            found = {}
            for fd in range(1024):
                try: found[fd] = stat.filemode(os.fstat(fd).st_mode)[0]
                except OSError: pass
            return list(found.items()), os.fstat(0).st_rdev == os.stat("/dev/null").st_rdev
    """)
    run(student)
    with student.fresh_process() as other:  # the second process inherits nothing from the first
        descriptors, null_is_stdin = run(other)
    opened = dict(descriptors)
    assert sorted(opened)[:3] == [0, 1, 2]
    assert [opened.pop(fd) for fd in (0, 1, 2)] == ["c", "p", "p"]
    assert list(opened.values()) == ["s"]
    assert null_is_stdin


def test_what_is_written_to_files_is_gone_afterwards(hand_in: Hand, zygote: Zygote) -> None:
    before = sorted(Path.cwd().iterdir()), sorted(zygote.folder.iterdir())
    student = hand_in("""
        import os, tempfile
        from pathlib import Path
        def run():
            Path("left.txt").write_text("x")
            Path.home().joinpath(".cache").write_text("x")
            tempfile.mkstemp()
            return os.getcwd()
    """)
    folder = run(student)
    assert Path(folder, "left.txt").exists()
    student.close()
    assert not Path(folder).exists()
    assert (sorted(Path.cwd().iterdir()), sorted(zygote.folder.iterdir())) == before


def test_random_numbers_depend_on_the_seed_alone(hand_in: Hand) -> None:
    text = """
        import random
        import numpy as np, torch
        from torch import nn
        class Block(nn.Module):
            def __init__(self, d):
                super().__init__()
                self.weight = nn.Parameter(torch.tensor([torch.rand(1), random.random(), np.random.rand()]))
    """
    one, other = hand_in(text), hand_in(text)
    first, again, elsewhere, changed = (
        student.build("Block", {"d": 1}, seed=seed).pull()["weight"].tolist()
        for student, seed in ((one, 7), (one, 7), (other, 7), (other, 8))
    )
    assert first == again == elsewhere
    assert not set(first) & set(changed)


def test_files_beside_gpt_can_be_imported_and_those_named_like_a_library_are_inert(hand_in: Hand) -> None:
    names = ("torch", "json", "numpy", "os", "secrets", "random", "conftest", "sitecustomize", "usercustomize")
    gpt = "import json, os, numpy, torch\nfrom helper import f\ndef run(): return f()\nclass GPT(torch.nn.Module): pass"
    helpers = {"helper": "import more\ndef f(): return more.VALUE", "more": "VALUE = 3"}
    student = hand_in(gpt, **helpers, **dict.fromkeys(names, "1 / 0"))
    student.build("GPT", {})
    assert run(student) == 3


def test_no_process_is_left_after_closing(hand_in: Hand, zygote: Zygote) -> None:
    before = living(zygote._process.pid)
    student = hand_in("""
        import os, time
        def run():
            try: pid = os.fork()
            except OSError: return 0
            if not pid: time.sleep(600)
            return pid
    """)
    started = run(student)
    assert len(living(zygote._process.pid)) == len(before) + 1
    student.close()
    assert living(zygote._process.pid) == before
    assert not started or ends(started)


# --- scratch folders --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("user", [0, 65534])
def test_any_folder_is_removed_and_nothing_that_it_links_to(user: int) -> None:
    if user and os.geteuid():
        pytest.skip("only root can become another user")
    place = Path(tempfile.mkdtemp())  # other users cannot reach tmp_path
    place.chmod(0o777)
    outside, left = place / "outside", place / "left"
    left.mkdir()
    outside.mkdir()
    (outside / "kept").write_text("x")
    (left / "link").symlink_to(outside)
    for mode in (0, 0o300, 0o500):
        (left / f"{mode}" / "below" / "further").mkdir(parents=True)
        (left / f"{mode}" / "below" / "file").write_text("x")
        (left / f"{mode}" / "below").chmod(mode)
        (left / f"{mode}").chmod(mode)
    os.mkfifo(left / "pipe")
    before = os.open(".", os.O_RDONLY)
    try:
        os.chdir(left)
        for _ in range(1100):  # the innermost path is too long for any system call
            os.mkdir("deep")
            os.chdir("deep")
    finally:
        os.fchdir(before)
        os.close(before)
    (left / "deep" / "beside").mkdir()
    if user:
        subprocess.run(["chown", "-hR", str(user), str(left)], check=True)
    pid = os.fork()
    if pid == 0:
        try:
            if user:
                os.setresuid(user, user, user)
            scratch.remove(left)
        finally:
            os._exit(0)
    os.waitpid(pid, 0)
    assert [path.name for path in place.iterdir()] == ["outside"]
    assert (outside / "kept").exists()
    scratch.remove(left)  # no file in it exists
    shutil.rmtree(place)


# --- the zygote -------------------------------------------------------------------------------------------------------


def test_a_dead_zygote_is_the_graders_fault_and_leaves_no_process() -> None:
    with Zygote() as zygote:
        student = StudentCode(zygote, {"gpt.py": PID.encode()}, Contract(main="gpt"))
        worker = run(student, name="pid")
        os.kill(zygote._process.pid, signal.SIGKILL)
        zygote._process.wait()
        with pytest.raises(SandboxError):
            run(student, name="pid")
        with pytest.raises(SandboxError):
            zygote.fork("student")
    assert ends(worker)
    assert not zygote.folder.exists()


def test_a_fork_that_fails_costs_that_submission_alone(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "sitecustomize.py").write_text("""if True:
        import os
        fork = os.fork
        def fails():
            if os.path.exists("no forks"):
                raise BlockingIOError(11, "Resource temporarily unavailable")
            return fork()
        os.fork = fails
    """)
    environment = launch._make_environment
    monkeypatch.setattr(launch, "_make_environment", lambda home: environment(home) | {"PYTHONPATH": str(tmp_path)})
    with Zygote() as zygote:
        student = StudentCode(zygote, {"gpt.py": PID.encode()}, Contract(main="gpt"))
        zygote.wait_until_ready()
        flag = zygote.folder / "no forks"
        flag.touch()
        folders = sorted(zygote.folder.iterdir())
        with pytest.raises(SandboxError, match="no process could be started: Resource temporarily"):
            run(student, name="pid")
        assert sorted(zygote.folder.iterdir()) == folders
        flag.unlink()
        assert run(student, name="pid")
        student.close()


def test_a_fork_is_tried_again(monkeypatch: pytest.MonkeyPatch) -> None:
    answers: list[int | OSError] = [BlockingIOError(), BlockingIOError(), 17]

    def fork() -> int:
        answer = answers.pop(0)
        if isinstance(answer, OSError):
            raise answer
        return answer

    monkeypatch.setattr(os, "fork", fork)
    monkeypatch.setattr(syscalls, "PAUSES", (0.0, 0.0))
    assert syscalls.fork() == 17


def test_what_is_launched_ahead_goes_to_the_first_that_asks_for_all_layers_or_ends() -> None:
    with launch.launch_early():
        (waiting,) = launch._spare_processes
        with Zygote(without=["seccomp"]) as other:
            assert other.pid != waiting.process.pid
        with Zygote() as first, Zygote() as second:
            assert first.pid == waiting.process.pid != second.pid
            assert first.wait_until_ready()["threads"] == 1
    with launch.launch_early():
        (waiting,) = launch._spare_processes
    assert waiting.process.poll() is not None
    assert not waiting.folder.exists()


def test_a_zygote_that_cannot_load_torch_says_why(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "torch.py").write_text("raise ImportError('libtorch_cpu.so: cannot open shared object file')")
    environment = launch._make_environment
    monkeypatch.setattr(launch, "_make_environment", lambda home: environment(home) | {"PYTHONPATH": str(tmp_path)})
    with Zygote() as zygote, pytest.raises(SandboxError, match=r"libtorch_cpu\.so: cannot open"):
        zygote.wait_until_ready()


def test_every_installed_copy_of_the_package_is_hidden(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    copy = tmp_path / "site-packages"
    (copy / "autograder" / "sandbox").mkdir(parents=True)
    (copy / "other").mkdir()
    monkeypatch.syspath_prepend(str(copy))
    policy = landlock.prepare(str(ROOT))
    if policy is None:
        pytest.skip("the kernel has no Landlock")
    readable = {path for path, rights in policy.rules if rights & landlock.READ_FILE}
    assert str(copy / "other") in readable
    assert not any(path.startswith(str(copy / "autograder")) or Path(path) in copy.parents for path in readable)
