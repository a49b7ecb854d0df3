"""Test that a batch saves each result at once, resumes after any interruption, and regrades only what changed."""

from __future__ import annotations

import hashlib
import os
import random
import signal
import subprocess
import sys
import threading
import time
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pytest

from autograder.assignment import ASSIGNMENT
from autograder.core.errors import BadInput
from autograder.course import commands
from autograder.course.gradebook.store import Gradebook
from autograder.course.runs import run
from autograder.course.runs.local_pool import GradeResult, RunConfig
from autograder.grading import secret
from autograder.grading.rubric import Rubric
from autograder.submission.read import read_submission
from tests.conftest import ROOT
from tests.course_kit import ROWS, Course, Pool, dump, query


def test_each_student_gets_their_verdicts_and_equal_sources_are_graded_once(course: Course) -> None:
    course.hand_in(ada="# 1", bob="# lose attention.formula", eve="# 1")
    assert course.regrade() == 0
    assert course.scores() == {"ada": 100.0, "bob": 94.0, "eve": 100.0}  # the bonus stands beside it
    assert len(course.graded) == 2


def test_only_what_is_missing_or_changed_is_graded_again(course: Course) -> None:
    course.hand_in(ada="# 1", bob="# 2")
    course.regrade()
    course.regrade()
    assert course.graded == []
    assert "Nothing has changed since run 1." in course.said()
    course.hand_in(bob="# 3", eve="# 4")
    course.regrade()
    assert len(course.graded) == 2
    course.regrade(seed=7)
    assert len(course.graded) == 3  # different hidden inputs
    course.regrade(rubric=ROWS.model_copy(update={"version": "other"}), seed=7)
    assert len(course.graded) == 3


def test_another_grader_grades_all_again(course: Course) -> None:
    course.hand_in(ada="# 1")
    course.regrade()
    course.patch.setattr("autograder.grading.suite.grader_version", lambda _: "9+9")
    course.regrade()
    assert len(course.graded) == 1


def test_an_error_of_the_grader_is_no_grade_and_is_tried_again(course: Course) -> None:
    course.hand_in(ada="# 1", bob="# error mlp.width")
    assert course.regrade() == 3
    assert course.scores() == {"ada": 100.0, "bob": None}
    assert "the grader failed at mlp.width" in course.said()
    assert course.regrade() == 0 or course.graded != []
    assert len(course.graded) == 1


def test_a_lost_process_costs_nothing_but_time(course: Course) -> None:
    course.hand_in(**{f"s{n}": f"# {n}" for n in range(5)})
    course.lose = 2
    assert course.regrade() == 0
    assert len(course.graded) == 5
    assert set(course.scores().values()) == {100.0}


def test_a_submission_at_which_the_graders_are_lost_each_time_is_no_zero(course: Course) -> None:
    course.hand_in(ada="# 1")
    course.lose = 99
    assert course.regrade() == 3
    assert course.scores() == {"ada": None}
    assert "lost 3 times" in course.said()
    course.lose = 0
    assert course.regrade() == 0
    assert course.scores() == {"ada": 100.0}


class Fragile(Pool):
    """A pool of three graders, all of which die at a submission that says ``kill``."""

    max_running = 3

    def __init__(self, config: RunConfig, threads: ThreadPoolExecutor) -> None:
        super().__init__(config)
        self.threads, self.lost = threads, threading.Event()

    def submit(self, chunk: list[tuple[str, Path]]) -> Future[list[GradeResult]]:
        return self.threads.submit(self.task, chunk, self.lost)

    def task(self, chunk: list[tuple[str, Path]], lost: threading.Event) -> list[GradeResult]:
        ((_, path),) = chunk
        if b"kill" in read_submission(path, ASSIGNMENT).files["gpt.py"]:
            lost.set()
        elif not lost.wait(0.05):
            return super().submit(chunk).result()
        raise RuntimeError("a process was lost")

    def renew(self) -> None:
        super().renew()
        self.lost = threading.Event()


def test_neighbours_of_a_submission_that_kills_the_graders_keep_their_grade(course: Course) -> None:
    course.hand_in(**{f"s{n}": f"# {n}" for n in range(5)}, eve="# kill", mallory="# kill too")
    with ThreadPoolExecutor() as threads:
        course.patch.setattr(commands, "_open_pool", lambda config, *_: nullcontext(Fragile(config, threads)))
        assert course.regrade() == 3
    assert course.scores() == {f"s{n}": 100.0 for n in range(5)} | {"eve": None, "mallory": None}
    assert course.said().count("lost 3 times") == 1  # one reason for both


def test_a_result_that_was_written_but_not_entered_is_taken_in(course: Course) -> None:
    course.hand_in(ada="# 1")
    course.regrade()
    with course.book() as book:
        for table in ("entry", "run", "verdict", "report"):
            query(book, f"DELETE FROM {table}")
    course.regrade()
    assert course.graded == []
    assert course.scores() == {"ada": 100.0}


def test_what_is_no_report_is_graded_anew(course: Course) -> None:
    course.hand_in(ada="# 1")
    course.regrade()
    (path,) = course.out.glob("results/*")
    path.write_text("{}")
    with course.book() as book:
        for table in ("entry", "run", "verdict", "report"):
            query(book, f"DELETE FROM {table}")
    course.regrade()
    assert len(course.graded) == 1
    assert course.scores() == {"ada": 100.0}


def test_ctrl_c_keeps_what_is_graded_and_says_how_to_go_on(course: Course) -> None:
    course.hand_in(**{f"s{n}": f"# {n}" for n in range(5)})
    real = run._save_result
    kept: list[int] = []

    def keep(*arguments: Any) -> None:
        if len(kept) == 2:
            raise KeyboardInterrupt
        kept.append(1)
        real(*arguments)

    course.patch.setattr(run, "_save_result", keep)
    assert course.regrade() == 130
    assert "2 of 5 are graded and saved; repeat the command to continue" in course.said()
    course.patch.setattr(run, "_save_result", real)
    assert course.regrade() == 0
    assert len(course.graded) == 3


def test_a_folder_without_submissions_leaves_the_gradebook_as_it_was(course: Course) -> None:
    course.hand_in(ada="# 1")
    course.regrade()
    (course.source.parent / "none").mkdir()
    with pytest.raises(BadInput, match="nothing in it"):
        course.regrade(course.source.parent / "none")
    assert course.scores() == {"ada": 100.0}


def test_two_commands_at_once_are_refused(course: Course) -> None:
    with course.book() as book, commands.exclusive_lock(book), pytest.raises(BadInput, match="another command"):  # noqa: SIM117
        with commands.exclusive_lock(book):
            pass


def test_a_file_that_is_no_gradebook_is_refused(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match=r"no gradebook\.sqlite"):
        Gradebook(tmp_path)
    (tmp_path / "gradebook.sqlite").write_text("something else, and long enough to be taken for a header" * 9)
    with pytest.raises(BadInput, match="not a database"):
        Gradebook(tmp_path)


# --- exported scores never fall unasked -------------------------------------------------------------------------------


def test_an_exported_score_falls_only_when_allowed(course: Course) -> None:
    from autograder.course.output.grade_export import export_grades

    course.hand_in(ada="# 1", bob="# 2")
    course.regrade()
    with course.book() as book:
        export_grades(book, "csv", course.source.parent / "scores.csv")
    course.hand_in(ada="# lose causality.full_model lose model.loss", bob="# 3")
    with pytest.raises(BadInput, match="--allow-lower-scores"):
        course.regrade()
    assert "from 100 to 92" in course.said()
    assert course.scores() == {"ada": 100.0, "bob": 100.0}  # what was exported still counts
    course.regrade(allow_lower_scores=True)
    assert course.graded == []
    assert course.scores() == {"ada": 92.0, "bob": 100.0}


def test_no_grade_in_place_of_an_exported_one_is_no_fall(course: Course) -> None:
    from autograder.course.output.grade_export import export_grades

    course.hand_in(ada="# 1")
    course.regrade()
    with course.book() as book:
        export_grades(book, "csv", course.source.parent / "scores.csv")
    course.hand_in(ada="# error mlp.width")
    assert course.regrade() == 3


# --- a kill at any moment ---------------------------------------------------------------------------------------------

SLOW = """
import sys, time
from pathlib import Path
from typing import Any
from autograder.assignment import ASSIGNMENT
from autograder.course import commands
from tests import course_kit

class Slow(course_kit.Pool):
    def submit(self, chunk):
        time.sleep(0.01)
        return super().submit(chunk)

import contextlib
@contextlib.contextmanager
def pool(config, *_):
    yield Slow(config)
commands._open_pool = pool
with commands.open_gradebook(Path(sys.argv[2]), None, create=True) as book, commands.exclusive_lock(book):
    print("ready", flush=True)
    commands.regrade(ASSIGNMENT, book, [Path(sys.argv[1])], workers=1, scheduler=None, roster=None, all_attempts=False,
                    nbgrader_name=None,
                    seed=None, rubric=course_kit.ROWS, note="", allow_lower_scores=False, allow_weak_sandbox=False)
"""


def start(course: Course) -> subprocess.Popen[str]:
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    return subprocess.Popen(
        [sys.executable, "-c", SLOW, str(course.source), str(course.out)],
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )


def test_killed_at_any_moment_and_started_again_it_ends_as_if_nothing_had_been(course: Course, tmp_path: Path) -> None:
    course.hand_in(**{f"s{n}": f"# {n}\n# lose shapes.course" * (n % 2) + f"# {n}" for n in range(20)})
    course.regrade()
    with course.book() as book:
        undisturbed = dump(book)
    course.out = tmp_path / "again"
    moments = random.Random(5)
    for results in (0, 4, 11):
        process = start(course)
        assert process.stdout is not None
        process.stdout.readline()
        while len(list(course.out.glob("results/*.json"))) < results and process.poll() is None:
            time.sleep(0.001)
        time.sleep(moments.uniform(0.0, 0.02))
        process.send_signal(signal.SIGKILL)
        process.wait()
        process.stdout.close()
    with course.book() as book, commands.exclusive_lock(book):
        course.regrade()
    assert len(course.graded) < 20  # some results were saved
    with course.book() as book:
        assert dump(book) == undisturbed


def test_what_a_killed_command_was_writing_is_swept_away(course: Course) -> None:
    with course.book() as book:
        (course.out / "results" / ".autograder-left").mkdir()
        with commands.exclusive_lock(book):
            assert not list(course.out.rglob(".autograder-*"))


def test_the_file_of_a_report_is_named_after_all_that_decides_it(course: Course) -> None:
    from tests.course_kit import make_config

    key = run.make_key(make_config())
    other: Rubric = ROWS.model_copy(update={"version": "0"})
    assert key.file_name("a" * 64) != run.make_key(make_config(other)).file_name("a" * 64)
    assert key.file_name("a" * 64).count("/") == 0


# --- the secret -------------------------------------------------------------------------------------------------------


def used(course: Course, **options: Any) -> bytes:
    """Return the secret that a run grades with."""
    found = []
    pool = commands._open_pool

    def look(config: RunConfig, *rest: Any) -> Any:
        found.append(config.secret)
        return pool(config, *rest)

    course.patch.setattr(commands, "_open_pool", look)
    course.regrade(**options)
    course.patch.setattr(commands, "_open_pool", pool)
    return found[0]


def test_each_gradebook_has_a_secret_of_its_own_that_no_seed_replaces(course: Course) -> None:
    course.hand_in(ada="# 1")
    drawn = used(course)
    seeded = used(course, seed=7)
    kept = course.out / "secret"
    assert (kept.read_bytes().strip(), kept.stat().st_mode & 0o777, len(drawn)) == (drawn, 0o600, 64)
    assert "no secret" not in course.said()
    assert course.regrade(seed=7) == 0
    assert course.graded == []  # the same seed and secret: the same inputs
    course.out = course.out.parent / "other"
    assert len({drawn, seeded, used(course), used(course, seed=7)}) == 4
    assert not {drawn, seeded} & {secret.PUBLIC, b"7"}


def test_the_secret_is_in_no_report_and_no_page(course: Course) -> None:
    course.hand_in(ada="# lose mlp.width")
    drawn = used(course)
    written = [path for path in course.out.rglob("*") if path.is_file() and path.name != "secret"]
    assert written
    assert not [path for path in written if drawn in path.read_bytes()]


def test_a_gradebook_from_before_secrets_gets_one_and_says_so(course: Course) -> None:
    course.hand_in(ada="# 1")
    course.regrade()
    (course.out / "secret").unlink()
    course.said()
    assert course.regrade() == 0
    assert "This gradebook had no secret" in course.said()
    assert len(course.graded) == 1
    assert course.scores() == {"ada": 100.0}


def test_what_a_report_says_of_the_secret_cannot_be_searched_for_a_small_seed() -> None:
    drawn = secret.draw()
    assert secret.identify(secret.mix(drawn, 7)) != secret.identify(secret.mix(secret.draw(), 7))
    assert secret.identify(drawn) not in {hashlib.sha256(str(n).encode()).hexdigest()[:12] for n in range(1000)}
