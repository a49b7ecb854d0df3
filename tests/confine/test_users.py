"""Test that each worker has its own user if the grader is root."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from autograder.core.assignment import Contract
from autograder.sandbox.isolation import confine, users
from autograder.sandbox.remote.client import Zygote
from autograder.sandbox.remote.student_code import StudentCode
from tests.confine.kit import TRY, Hand, in_child, needs_root, needs_seccomp, run
from tests.conftest import ROOT


@needs_root
@needs_seccomp
def test_each_worker_is_a_user_of_its_own_in_no_group_with_a_scratch_folder_of_its_own(hand_in: Hand) -> None:
    # Without Landlock this holds even if other users cannot read Python's library.
    code = "def who(): return os.getresuid(), os.getresgid(), os.getgroups(), os.stat('.').st_uid, os.getcwd()"
    one = hand_in(code, without=("landlock",))
    users, gids, groups, owner, folder = run(one, "who")
    assert "uid" in one.layers
    assert len({*users, *gids, owner}) == 1
    assert users[0] != 0
    assert groups == []
    assert os.stat(folder).st_mode & 0o077 == 0
    with one.fresh_process() as other:
        used = run(other, "who")[0][0]
        assert used != users[0]
    with one.fresh_process() as another:  # the uid of a worker that has ended is reused
        assert run(another, "who")[0][0] == used


@needs_root
def test_another_user_is_in_no_group_of_root() -> None:
    def inside() -> list[int]:
        os.setgroups([0, 4242])
        users.switch_user(users.FIRST)
        return os.getgroups()

    assert in_child(inside) == []


@needs_root
@needs_seccomp
def test_two_graders_never_share_a_user(hand_in: Hand) -> None:
    code = "def who(): return os.getuid()"
    one = hand_in(code, without=("landlock",))
    run(one, "who")
    with Zygote(without=("landlock",)) as zygote:
        other = StudentCode(zygote, {"gpt.py": (TRY + code).encode()}, Contract(main="gpt"))
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
    assert confine.plan(str(ROOT)).users is None
    folder.chmod(0o755)
    assert confine.plan(str(ROOT)).users is not None
