"""Test the real graders: several share one zygote, and a killed grader or a lost cluster worker costs only time."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from autograder.assignment import ASSIGNMENT
from autograder.core.errors import BadInput, Refused
from autograder.course.gradebook.match_students import match_or_add_students
from autograder.course.gradebook.records import ReportKey
from autograder.course.gradebook.store import Gradebook
from autograder.course.intake import collect
from autograder.course.runs import dask_pool, local_pool
from autograder.course.runs.local_pool import GradeResult, LocalPool, RunConfig, open_local_pool
from autograder.course.runs.run import find_missing, finish_run, grade_all, make_key, plan_run
from autograder.grading import rubric
from autograder.grading.report import Report
from autograder.grading.rubric import Rubric
from autograder.grading.suite import PUBLIC_SECRET, grader_version
from autograder.sandbox.isolation import selftest
from autograder.sandbox.remote.client import SandboxError
from autograder.submission.read import read_submission
from tests import bank_file, course_kit
from tests.conftest import ROOT
from tests.course_kit import dump
from tests.measure_course import tree


@pytest.fixture
def paper(monkeypatch: pytest.MonkeyPatch) -> Rubric:
    """Select only the quickest checks, since these tests are about the pool that runs them."""
    from autograder.grading import suite

    real = suite.grade
    monkeypatch.setattr(suite, "grade", lambda *a, **k: real(*a, **(k | {"only": "mlp"})))
    return rubric.load(ASSIGNMENT)


def planned_run(folder: Path, rows: Rubric, number: int = 4) -> tuple[Gradebook, ReportKey, Any, list[str]]:
    """Return a gradebook with an open run over some of the bank, and the submissions to grade."""
    source = folder / "in"
    for n, path in enumerate(sorted(bank_file.paths("variants", "mistakes"))[:number]):
        (source / f"s{n}").mkdir(parents=True)
        bank_file.load(path).write(source / f"s{n}")
    book = Gradebook(folder / "out", create=True)
    key = make_key(RunConfig(ASSIGNMENT, rows, PUBLIC_SECRET))
    with book.transaction():
        run = plan_run(
            book,
            key,
            collect.collect_attempts(
                [source], folder / "out" / "submissions", partial(match_or_add_students, book), ASSIGNMENT
            ),
            "in",
            "",
        )
    return book, key, run, find_missing(book, key, run)


def test_graders_share_a_zygote_and_a_killed_one_costs_nothing_but_time(
    tmp_path: Path, paper: Rubric, grade: Callable[..., Report]
) -> None:
    book, key, run, todo = planned_run(tmp_path, paper)
    renewed = []
    with open_local_pool(RunConfig(ASSIGNMENT, paper, PUBLIC_SECRET), 2) as graders:
        processes = list(graders._executor._processes)
        real = LocalPool.renew
        graders.renew = lambda: (renewed.append(1), real(graders))  # type: ignore[method-assign,assignment,return-value]

        def kill() -> None:
            time.sleep(0.5)
            os.kill(processes[0], signal.SIGKILL)

        threading.Thread(target=kill).start()
        grade_all(book, key, run, graders, todo, lambda _: None)
    assert renewed
    finish_run(book, run, False)
    single = {
        sha: grade(collect.source_path(tmp_path / "out" / "submissions", sha)).model_dump(include={"checks", "score"})
        for sha in todo[:1]
    }
    for sha, expected in single.items():
        (path,) = (tmp_path / "out" / "results").glob(f"{sha}*")
        found = Report.model_validate_json(path.read_bytes())
        assert found.model_dump(include={"checks", "score"}) == expected
    assert len(list((tmp_path / "out" / "results").iterdir())) == 4
    assert {row[1] for row in dump(book)} == {"current"}
    book.close()


def test_with_the_main_process_killed_nothing_lives_on(tmp_path: Path) -> None:
    for n in range(2):
        (tmp_path / "in" / f"s{n}").mkdir(parents=True)
        bank_file.load(bank_file.paths("variants")[n]).write(tmp_path / "in" / f"s{n}")
    process = subprocess.Popen(
        [sys.executable, "-m", "autograder", "regrade", str(tmp_path / "in"), "--gradebook", str(tmp_path / "out")],
        cwd=ROOT,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    deadline = time.monotonic() + 60
    while len(family := tree(process.pid)) < 4 and time.monotonic() < deadline:
        time.sleep(0.1)
    assert len(family) >= 4
    process.kill()
    process.wait()
    deadline = time.monotonic() + 20
    while (left := [pid for pid in family[1:] if alive(pid)]) and time.monotonic() < deadline:
        time.sleep(0.1)
    assert left == []


def alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def test_a_task_on_a_cluster_grades_in_a_process_of_its_own(tmp_path: Path) -> None:
    folder = bank_file.load(bank_file.paths("variants")[0]).write(tmp_path)
    found = read_submission(folder, ASSIGNMENT)
    (answer,) = dask_pool.run_chunk(
        [(found.sha256, collect.archive_sources(found))],
        RunConfig(ASSIGNMENT, rubric.load(ASSIGNMENT), PUBLIC_SECRET),
    )
    assert answer.sha256 == found.sha256
    report = Report.model_validate_json(answer.document)
    assert (report.score, report.submission.sha256) == (100.0, found.sha256)
    assert (report.provenance.mode, report.provenance.accepted_risks) == ("official", ())


def test_where_student_code_is_not_kept_in_a_course_is_graded_only_if_that_is_accepted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(selftest, "find_escapes", lambda *_: ("open connections",))
    config = RunConfig(ASSIGNMENT, rubric.load(ASSIGNMENT), PUBLIC_SECRET)
    with pytest.raises(Refused, match="open connections"):
        local_pool.start_zygote(config)
    zygote, accepted = local_pool.start_zygote(replace(config, allow_weak_sandbox=True))
    with zygote:
        folder = bank_file.load(bank_file.paths("broken")[0]).write(tmp_path)
        found = local_pool.grade_one(folder, "0" * 64, zygote, accepted, config)
    assert Report.model_validate_json(found.document).provenance.accepted_risks == ("open connections",)


def test_a_machine_too_busy_to_start_over_is_asked_again(monkeypatch: pytest.MonkeyPatch) -> None:
    left = [SandboxError("timed out"), SandboxError("timed out")]

    def start(_: LocalPool) -> None:
        if left:
            raise left.pop()

    monkeypatch.setattr(local_pool, "PAUSES", (0.0, 0.0))
    monkeypatch.setattr(LocalPool, "_start", start)
    monkeypatch.setattr(LocalPool, "close", lambda _: None)
    busy = LocalPool.__new__(LocalPool)
    busy.renew()
    left += [SandboxError("timed out")] * 3
    with pytest.raises(SandboxError):
        busy.renew()


class Cluster:
    """A replacement for a Dask client that runs tasks in threads, as on a worker."""

    def __init__(self, versions: dict[str, str]) -> None:
        self.versions = versions

    def get_executor(self, **_: object) -> ThreadPoolExecutor:
        return ThreadPoolExecutor(1)

    def ncores(self) -> dict[str, int]:
        return {"worker": 2}

    def run(self, *_: object) -> dict[str, str]:
        return self.versions


def test_sources_travel_to_a_cluster_in_chunks_and_results_are_kept_here(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = rubric.load(ASSIGNMENT)
    book, key, run, todo = planned_run(tmp_path, rows, 6)
    chunks = []

    def run_chunk(sources: list[tuple[str, bytes]], config: RunConfig) -> list[GradeResult]:
        assert config == RunConfig(ASSIGNMENT, rows, PUBLIC_SECRET)
        chunks.append(len(sources))
        assert all(data.startswith(b"PK") for _, data in sources)
        return [GradeResult(sha, course_kit.report(sha, "", key).to_json()) for sha, _ in sources]

    monkeypatch.setattr(dask_pool, "run_chunk", run_chunk)
    grade_all(
        book,
        key,
        run,
        dask_pool.DaskPool(RunConfig(ASSIGNMENT, rows, PUBLIC_SECRET), Cluster({})),
        todo,
        lambda _: None,
    )
    assert sorted(chunks) == [2, 4]
    assert find_missing(book, key, run) == []
    book.close()


@pytest.mark.parametrize(
    ("versions", "says"),
    [({}, "no workers yet"), ({"a": grader_version(ASSIGNMENT), "b": "0+other"}, "b has a different grader")],
)
def test_a_cluster_with_another_grader_is_refused(versions: dict[str, str], says: str) -> None:
    with pytest.raises(BadInput, match=says):
        dask_pool._require_same_grader(Cluster(versions), ASSIGNMENT)
    dask_pool._require_same_grader(Cluster({"a": grader_version(ASSIGNMENT)}), ASSIGNMENT)
