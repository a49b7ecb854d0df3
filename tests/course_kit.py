"""Provide a course without torch: each submission is a few words that say which verdicts it gets.

``gpt.py`` can contain ``lose ID`` and ``half ID`` for checks, ``error ID`` for a failure of the grader, and ``name
MISTAKE``.
"""

from __future__ import annotations

import contextlib
import re
import sqlite3
from collections.abc import Iterator
from concurrent.futures import Future
from pathlib import Path
from typing import Any

import pytest

from autograder.assignment import ASSIGNMENT
from autograder.course import commands
from autograder.course.gradebook.records import ReportKey
from autograder.course.gradebook.store import Gradebook
from autograder.course.runs.local_pool import GradeResult, RunConfig
from autograder.course.runs.run import make_key
from autograder.grading import report as reports
from autograder.grading import rubric
from autograder.grading.report import Diagnosis, Report, Verdict
from autograder.grading.rubric import Rubric
from autograder.grading.suite import PUBLIC_SECRET
from autograder.submission.read import read_submission

ROWS = rubric.load(ASSIGNMENT)
STATUS = {"lose": "failed", "half": "partial", "error": "error"}
SHARE = {"passed": 1.0, "partial": 0.5}


def report(sha256: str, text: str, key: ReportKey, rows: Rubric = ROWS, **evidence: Any) -> Report:
    """Return the report that ``text`` asks for."""
    asked = {name: STATUS[word] for word, name in re.findall(r"(lose|half|error) ([a-z_.]+)", text)}
    named = re.findall(r"name ([a-z_]+)", text)
    checks = tuple(
        Verdict(
            id=row.id,
            criterion=row.criterion,
            title=row.title,
            status=(status := asked.get(row.id, "passed")),  # type: ignore[arg-type]
            score=SHARE.get(status, 0) * row.points,
            max_score=row.points,
            message=f"{row.id} is {status}, `see <b>line 3</b>`" if status != "passed" else "",
            diagnosis=tuple(Diagnosis(mistake=m, message=f"You did {m}.") for m in named if row.id in asked),
            evidence=evidence.get(row.id, {}),
        )
        for row in rows.checks
    )
    score, max_score, bonus = reports.compute_totals(checks, {c.id for c in rows.criteria if c.bonus}, rows.total)
    return Report(
        assignment="x",
        submission=reports.SubmissionFacts(id=sha256[:12], sha256=sha256, format="zip", files=("gpt.py",)),
        provenance=reports.Provenance(
            grader=key.grader, rubric=key.rubric, seed_id=key.seed, torch="2", python="3", platform="x", sandbox=()
        ),
        score=score,
        max_score=max_score,
        bonus=bonus,
        gradable=all(check.status != "error" for check in checks),
        criteria=tuple(
            reports.CriterionFacts(id=c.id, title=c.title, task=c.task, bonus=c.bonus) for c in rows.criteria
        ),
        checks=checks,
        not_implemented=(),
        output="printed <i>this</i>",
        timing=reports.Timing(wall=1, cpu=1, checks={}),
    )


class Pool:
    """A pool that grades at once, or first raises ``lose`` times, as if it had lost its processes."""

    chunk, max_running, is_shared = 1, 2, True

    def __init__(self, config: RunConfig, lose: int = 0) -> None:
        self.key, self.rows, self.graded, self.lose, self.renewed = (
            make_key(config),
            config.rubric,
            [],
            lose,
            0,
        )
        self.graded: list[str] = []

    def submit(self, chunk: list[tuple[str, Path]]) -> Future[list[GradeResult]]:
        future: Future[list[GradeResult]] = Future()
        ((sha256, path),) = chunk
        if self.lose:
            self.lose -= 1
            future.set_exception(RuntimeError("a process was lost"))
            return future
        self.graded.append(sha256)
        text = read_submission(path, ASSIGNMENT).files["gpt.py"].decode()
        future.set_result([GradeResult(sha256, report(sha256, text, self.key, self.rows).to_json())])
        return future

    def renew(self) -> None:
        self.renewed += 1


@contextlib.contextmanager
def pool(config: RunConfig, *_: object) -> Iterator[Pool]:
    yield Pool(config)


class Course:
    """A folder of submissions and a gradebook beside it."""

    def __init__(self, root: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
        self.source, self.out, self.patch, self._capsys = root / "in", root / "out", monkeypatch, capsys
        self.source.mkdir()
        self.graded: list[str] = []
        self.lose = 0
        monkeypatch.setattr(commands, "_open_pool", self._open_pool)

    @contextlib.contextmanager
    def _open_pool(self, config: RunConfig, *_: object) -> Iterator[Pool]:
        used = Pool(config, self.lose)
        yield used
        self.graded = used.graded

    def hand_in(self, **texts: str) -> None:
        """Write submissions, by student."""
        for name, text in texts.items():
            (self.source / name).mkdir(exist_ok=True)
            (self.source / name / "gpt.py").write_text(text)

    def regrade(self, *paths: Path, **options: Any) -> int:
        """Run ``regrade`` and return its exit status; ``graded`` then lists the submissions graded."""
        self.graded = []
        defaults: dict[str, Any] = {
            "rubric": ROWS,
            "note": "",
            "allow_lower_scores": False,
            "all_attempts": False,
            "allow_weak_sandbox": False,
        }
        defaults["allow_weak_sandbox"] = False
        none = dict.fromkeys(("scheduler", "roster", "nbgrader_name", "seed"))
        with self.book() as book:
            return commands.regrade(ASSIGNMENT, book, paths or [self.source], workers=1, **(none | defaults | options))

    @contextlib.contextmanager
    def book(self) -> Iterator[Gradebook]:
        with Gradebook(self.out, create=True) as book:
            yield book

    def said(self) -> str:
        """Return the output since the last call."""
        return self._capsys.readouterr().out

    def scores(self) -> dict[str, float | None]:
        """Return the scores that count, by name."""
        from autograder.course.gradebook.results import compute_results

        with self.book() as book:
            run = book.find_current_run()
            assert run is not None
            return {one.student.display_name(False): one.score for one in compute_results(book, run)}


def query(book: Gradebook, statement: str, *values: object) -> list[tuple[Any, ...]]:
    """Run SQL on the file of ``book``, over a separate connection."""
    with contextlib.closing(sqlite3.connect(book.folder / "gradebook.sqlite")) as database, database:
        return database.execute(statement, values).fetchall()


def make_config(rows: Rubric = ROWS) -> RunConfig:
    return RunConfig(ASSIGNMENT, rows, PUBLIC_SECRET)


def dump(book: Gradebook) -> list[tuple[object, ...]]:
    """Return the gradebook's contents without times and numbers, so that equal courses give equal dumps."""
    return query(
        book,
        "SELECT run.kind, run.state, run.rubric, student.name, attempt, latest, entry.sha256, trouble, verdict.id,"
        " status, score, verdict.max_score, message, diagnosis FROM entry JOIN run ON run.id = run JOIN student ON"
        " student.id = student LEFT JOIN report ON report.id = entry.report LEFT JOIN verdict ON"
        " verdict.report = report.id ORDER BY run.id, student.name, attempt, position",
    )
