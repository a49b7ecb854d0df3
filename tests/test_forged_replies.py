"""Test that replies forged by student code are checked, and never become the grader's fault."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from autograder.grading.report import Report
from autograder.sandbox.remote import wire
from autograder.sandbox.remote.errors import Crashed, StudentError, TimeLimitReached
from tests import claims
from tests.conftest import ROOT, Hand, Limit, run
from tests.reports import harmful

# --- forged replies ---------------------------------------------------------------------------------------------------

# Student code can find the channel in serve()'s frame, and write replies that no function could return.
FORGE = """
import json, os, struct, sys
inf, null, true = float("inf"), None, True

def forge(reply, nonce=None):
    frame = sys._getframe()
    while not {"nonce", "channel"} <= set(frame.f_locals):
        frame = frame.f_back
    text = json.dumps({"value": {"dict": reply}, "arrays": [{"dtype": "u8", "shape": [2, 0]}]})
    header = text.replace("NONCE", nonce or frame.f_locals["nonce"]).encode()
    os.write(frame.f_locals["channel"], struct.pack("<II", len(header), 0) + header)
"""


def test_a_reply_forged_before_the_real_one_is_not_believed(hand_in: Hand) -> None:
    forged = [["nonce", "NONCE"], ["value", 100]]
    with pytest.raises(Crashed):
        run(hand_in(f"{FORGE}def run(): forge({forged}, 'guessed')"))


def test_a_reply_written_before_it_is_asked_for_is_not_believed(hand_in: Hand) -> None:
    student = hand_in(f"""{FORGE}
def early():
    real = os.write
    def twice(fd, frame):
        done = real(fd, frame)
        os.write = real
        forge([["nonce", "NONCE"], ["value", 100]])
        return done
    os.write = twice
def run(): return 1
""")
    run(student, name="early")
    with pytest.raises(Crashed):
        run(student)


@pytest.mark.parametrize("sent", [b"HTTP/1.1 200 OK\r\n\r\n", b"\xff" * 64, b"\x02\0\0\0\0\0\0\0[]"])
def test_bytes_that_are_no_frame_are_crashed(hand_in: Hand, sent: bytes) -> None:
    code = f"for fd in range(3, 64):\n        try: os.write(fd, {sent!r})\n        except OSError: pass"
    with pytest.raises(Crashed):
        run(hand_in(f"import os\ndef run():\n    {code}"))


RAISED = [["type", "E"], ["text", ""], ["name", ""], ["kinds", []]]
MALFORMED: dict[str, list[Any]] = {
    "a nonce that is an array": [["nonce", {"array": 0}], ["value", 1]],
    "an array was raised": [["nonce", "NONCE"], ["raised", {"array": 0}]],
    "raised at line infinity": [
        ["nonce", "NONCE"],
        ["raised", {"dict": [*RAISED, ["frames", [["gpt.py", float("inf"), "", "", 0, 0]]]]}],
    ],
    "no claim": [["nonce", "NONCE"], ["value", None]],
    "a claim of nothing": [["nonce", "NONCE"], ["value", {"dict": []}]],
    "a claim of another kind": [["nonce", "NONCE"], ["value", {"dict": [["parameters", 7], ["module", True]]}]],
    "a shape that is a number": [
        ["nonce", "NONCE"],
        ["value", {"dict": [["parameters", {"dict": [["names", ["w"]], ["shapes", [7]]]}]]}],
    ],
}


@pytest.mark.parametrize("reply", MALFORMED)
@pytest.mark.parametrize("where", ["in a constructor", "while loading"])
def test_a_malformed_reply_is_an_error_of_the_student(hand_in: Hand, reply: str, where: str) -> None:
    code = f"forge({json.dumps(MALFORMED[reply]).replace('Infinity', 'inf')}); os._exit(0)"
    loading = code if where == "while loading" else ""
    with pytest.raises(StudentError):
        hand_in(f"{FORGE}{loading}\nclass GPT:\n    def __init__(self, d): {code}").build("GPT", {"d": 1})


# --- replies that do not end ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "sends",
    [
        "for byte in frame: os.write(channel, bytes([byte])); time.sleep(0.05)",
        "os.write(channel, frame[:20]); time.sleep(600)",
        "os.write(channel, frame[:3]); time.sleep(600)",
    ],
    ids=["a byte at a time", "a part of the header", "a part of the lengths"],
)
def test_a_reply_that_does_not_end_is_out_of_time(hand_in: Hand, limit: Limit, sends: str) -> None:
    student = hand_in(f"""
import os, sys, time
def run():
    frame = sys._getframe()
    while "channel" not in frame.f_locals: frame = frame.f_back
    channel, frame = frame.f_locals["channel"], b"\\0\\1\\0\\0\\0\\0\\0\\0" + b'{{"value": ' * 25
    {sends}
""")
    assert student.defines("run")
    limit(call_cpu=0.3, wall_factor=2.0)
    started = time.monotonic()
    with pytest.raises(TimeLimitReached, match=r"after 0\.6 s of waiting"):
        run(student)
    assert time.monotonic() - started < 5


@pytest.mark.parametrize("announced", [(1 << 32) - 1, wire.MAX_HEADER + 1])
def test_a_reply_that_announces_too_much_is_refused_before_any_of_it_is_waited_for(
    hand_in: Hand, limit: Limit, announced: int
) -> None:
    code = f"os.write(frame.f_locals['channel'], struct.pack('<II', {announced}, 0)); time.sleep(600)"
    student = hand_in(f"""
import os, struct, sys, time
def run():
    frame = sys._getframe()
    while "channel" not in frame.f_locals: frame = frame.f_back
    {code}
""")
    with pytest.raises(Crashed, match="a frame announces"):
        run(student)


# --- replies of the right form, and of odd content --------------------------------------------------------------------


@pytest.mark.parametrize("start", [0, 13, 26])
@pytest.mark.parametrize("operation", claims.OPERATIONS)
def test_whatever_the_worker_claims_is_no_error_of_the_grader(
    grade: Callable[..., Report], tmp_path: Path, operation: str, start: int
) -> None:
    for name in ("gpt", "paper"):
        (tmp_path / f"{name}.py").write_bytes((ROOT / "reference" / f"{name}.py").read_bytes())
    with (tmp_path / "gpt.py").open("ab") as file:
        file.write(claims.lying(operation, start))
    for criterion in claims.OPERATIONS[operation]:
        report = grade(tmp_path, only=criterion)
        assert not [f"{check.id}: {check.message}" for check in report.checks if check.status == "error"]
        assert not list(harmful(report))


def test_every_operation_of_the_worker_is_among_them() -> None:
    assert claims.of_the_worker() == {*claims.OPERATIONS, "store_files"}
