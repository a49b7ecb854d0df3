"""Test Landlock alone: files, programs, connections and signals."""

from __future__ import annotations

import glob
import os
import socket
import sys
from pathlib import Path

import pytest

from autograder.sandbox.isolation import confine, landlock, syscalls
from tests.confine.kit import LANDLOCK, Hand, Weaker, attempt, in_child, needs_landlock, outcome, run
from tests.conftest import ROOT

ONLY_LANDLOCK = ("seccomp", "uid")


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
    with one.fresh_process() as other:
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
        syscalls.prctl(syscalls.PR_SET_NO_NEW_PRIVS, 1)
        landlock.Policy(abi, ((str(Path(os.__file__).parent), landlock.READ),)).apply(str(scratch))
        (scratch / "file").write_text("x")
        (scratch / "file").unlink()
        return [
            outcome((scratch / "folder").mkdir),
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
    assert in_child(inside) == ["EACCES", "done", *["EACCES"] * 4, "done", network, signals]
    assert secret.read_text() == "secret"


@needs_landlock
@pytest.mark.parametrize("editable", [False, True], ids=["installed", "editable"])
def test_the_package_is_hidden_where_it_is_installed_among_libraries(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, editable: bool
) -> None:
    for name in ("autograder/oracle.py", "reference/gpt.py", "torch/nn.py", "single.py"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("x = 1")
    (tmp_path / "link").symlink_to(tmp_path / "autograder")
    (tmp_path / "self").symlink_to(tmp_path)
    if editable:
        (tmp_path / "pyproject.toml").write_text("")
    monkeypatch.setattr(sys, "path", [*sys.path, str(tmp_path)])
    policy = landlock.prepare(str(tmp_path))
    assert policy is not None

    def inside() -> dict[str, str]:
        syscalls.prctl(syscalls.PR_SET_NO_NEW_PRIVS, 1)
        policy.apply("/nowhere")
        names = (
            "autograder/oracle.py",
            "link/oracle.py",
            "self/autograder/oracle.py",
            "torch/nn.py",
            "single.py",
        )
        return {name: outcome(open, tmp_path / name) for name in names}

    hidden = "EACCES" if editable else "done"
    assert in_child(inside) == {
        **dict.fromkeys(("autograder/oracle.py", "link/oracle.py", "self/autograder/oracle.py"), "EACCES"),
        "torch/nn.py": hidden,
        "single.py": hidden,
    }
