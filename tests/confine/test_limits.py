"""Test resource limits and dropped privileges."""

from __future__ import annotations

import pytest

from autograder.assignment import ASSIGNMENT
from autograder.sandbox.isolation import confine
from tests.confine.kit import Hand, Weaker, attempt, process_of, run, status


def test_the_limits_that_held_are_those_of_the_process(hand_in: Hand) -> None:
    student = hand_in("import resource\ndef limit(name): return resource.getrlimit(getattr(resource, name))")
    limits = confine.Limits()
    assert run(student, "limit", "RLIMIT_CPU") == (limits.submission_cpu + 1, limits.submission_cpu + 2)
    assert run(student, "limit", "RLIMIT_AS") == (limits.memory,) * 2
    assert run(student, "limit", "RLIMIT_CORE") == (0, 0)
    assert {"cpu", "as", "fsize", "nofile", "core"} <= set(student.layers)


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


@pytest.mark.parametrize("without", [(), ("uid",), ("landlock",)], ids=lambda without: "without " + "".join(without))
def test_no_privilege_is_left_and_none_can_be_gained(hand_in: Hand, without: tuple[str, ...]) -> None:
    facts = status(process_of(hand_in(without=without)))
    assert int(facts["CapEff"], 16) == int(facts["CapPrm"], 16) == 0
    assert facts["NoNewPrivs"] == "1"


def test_other_processes_cannot_look_into_a_worker_the_oracle_or_the_zygote(hand_in: Hand, weaker: Weaker) -> None:
    student = hand_in(without=("landlock", "seccomp", "uid"))
    assert run(student, "prctl", 3) == 0  # PR_GET_DUMPABLE
    zygote = weaker("landlock", "seccomp", "uid")
    oracle = zygote.oracle(ASSIGNMENT.oracle, str(ASSIGNMENT.root))
    try:
        for pid in (zygote.pid, oracle.pid):
            code = f"os.open('/proc/{pid}/mem', os.O_RDONLY)"
            assert attempt(student, code) == "EACCES"
    finally:
        oracle.close()
