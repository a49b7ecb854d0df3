"""Runs the checks under pytest and turns what happens into verdicts: every check of the rubric ends as exactly one.

The same plugin serves ``grade`` and a plain ``pytest autograder/checks --submission PATH``.
"""

from __future__ import annotations

import functools
import gc
import hashlib
import hmac
import os
import time
import traceback
from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pytest

import autograder
from autograder import raised
from autograder import report as reports
from autograder import secret as secrets
from autograder.assignment import ASSIGNMENT
from autograder.oracle.handle import Oracle
from autograder.outcome import Failed, Notes, tell
from autograder.report import Report, Verdict
from autograder.rubric import Check, Rubric
from autograder.sandbox.errors import Absent, Broken, Raised, StudentError
from autograder.sandbox.process import Zygote
from autograder.sandbox.student import Student
from autograder.sandbox.wire import WireError, clean
from autograder.submission import Submission

CHECKS = Path(__file__).with_name("checks")
PUBLIC_SECRET = secrets.PUBLIC
MESSAGE = 900  # characters: student text in it may be long
IF_RIGHT = "If you think that it is right, show this message to your instructor."
REMARKS = 5  # of what went wrong beside the checks

# A grading run is not a test session of this machine: none of its plugins, caches or captures takes part, nor do the
# parts of pytest that checks don't use, each of which is looked through for every submission.
WITHOUT = (
    *("terminal", "capture", "assertion", "reports", "cacheprovider", "logging", "warnings", "doctest", "unittest"),
    *("junitxml", "faulthandler", "pastebin", "stepwise", "unraisableexception", "threadexception", "debugging"),
    *("legacypath", "tmpdir", "monkeypatch", "recwarn", "setuponly", "setupplan", "skipping", "subtests"),
)
OPTIONS = (
    *("-c", os.devnull, "--rootdir", str(CHECKS), "--confcutdir", str(CHECKS)),
    "--disable-plugin-autoload",
    *(f"-pno:{name}" for name in WITHOUT),
)

# Exceptions that an odd answer which no reader has refused can still cause in a check that calculates with it.
OF_ODD = (ArithmeticError, AttributeError, IndexError, KeyError, TypeError, ValueError)

ENDED = (pytest.ExitCode.OK, pytest.ExitCode.TESTS_FAILED, pytest.ExitCode.NO_TESTS_COLLECTED)


class Suite:
    """A pytest plugin: what the checks' fixtures hand out, and the record of their verdicts."""

    NAME = "grading"

    def __init__(
        self,
        submission: Submission,
        zygote: Zygote,
        rubric: Rubric,
        secret: bytes = PUBLIC_SECRET,
        on_verdict: Callable[[Verdict], None] = lambda _: None,
        only: str | None = None,
    ) -> None:
        self.__name__ = self.NAME  # under which pytest registers a plugin
        self.verdicts: dict[str, Verdict] = {}
        self.cpu: dict[str, float] = {}
        self.trouble = ""
        self._submission, self._secret, self._only, self._on_verdict = submission, secret, only, on_verdict
        self._rows = {check.id: check for check in rubric.checks}
        self.student = Student(zygote, submission.files, [entry.name for entry in ASSIGNMENT.contract])
        self.oracle = Oracle(zygote)
        self._notes: dict[str, Notes] = {}
        self._counted = self._spent()

    def _spent(self) -> float:
        """CPU seconds so far, of the submission's processes, the oracle and this one."""
        return self.student.cpu + self.oracle.cpu + time.process_time()

    def close(self) -> None:
        """End the processes of this run."""
        self.student.close()

    # --- what the fixtures in checks/conftest.py hand out -----------------------------------------------------------

    def notes_of(self, item: pytest.Item) -> Notes:
        """What the check ``item`` says and measured."""
        return self._notes.setdefault(identity(item), Notes())

    def generator(self, label: str) -> np.random.Generator:
        """Random numbers that depend on the secret, the submission and ``label`` alone."""
        message = f"{self._submission.sha256}/{label}".encode()
        return np.random.default_rng(int.from_bytes(hmac.digest(self._secret, message, "sha256"), "little"))

    # --- hooks ------------------------------------------------------------------------------------------------------

    def pytest_configure(self, config: pytest.Config) -> None:
        """In a grading run, which has no terminal, draw no tracebacks: nobody sees them, and each costs 50 ms."""
        vars(config.option).setdefault("tbstyle", "no")

    def pytest_collection_modifyitems(self, config: pytest.Config, items: list[pytest.Item]) -> None:
        """Rubric order; what is not asked for is deselected; a check without a row is a mistake of the grader."""
        unknown = [identity(item) for item in items if identity(item) not in self._rows]
        if unknown:
            self.trouble = f"no row in rubric.toml for {', '.join(unknown)}"
            raise pytest.UsageError(self.trouble)
        order = {own: position for position, own in enumerate(self._rows)}
        items.sort(key=lambda item: order[identity(item)])
        kept = [item for item in items if self._asked(item)]
        # What a class's own check has charged, others don't charge again: it runs before those that ask about it.
        asking = [order[identity(item)] for item in kept if "charged" in getattr(item, "fixturenames", ())]
        before = [item for item in items[: max(asking, default=0)] if item.get_closest_marker("charges")]
        left = [item for item in items if item not in kept and item not in before]
        if left:
            config.hook.pytest_deselected(items=left)
            items[:] = [item for item in items if item not in left]

    def _asked(self, item: pytest.Item) -> bool:
        """Whether the verdict on a check is asked for."""
        return self._only in (None, self._rows[identity(item)].criterion)

    def pytest_runtest_setup(self, item: pytest.Item) -> None:
        """What a check needs by declaration is looked for before it runs."""
        for name in _needs(item):
            module = next(entry.module for entry in ASSIGNMENT.contract if entry.name == name)
            self.student.require(name, module)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(
        self, item: pytest.Item, call: pytest.CallInfo[None]
    ) -> Generator[None, pytest.TestReport, pytest.TestReport]:
        report = yield
        error = call.excinfo.value if call.excinfo else None
        own = identity(item)
        spent = self._spent()
        self.cpu[own] = self.cpu.get(own, 0.0) + spent - self._counted
        self._counted = spent
        if isinstance(error, KeyboardInterrupt) or (error is None and call.when != "call") or not self._asked(item):
            return report
        if own not in self.verdicts or error is not None:
            verdict = self._verdict(self._rows[own], _needs(item), error)
            self.verdicts[own] = verdict
            self._on_verdict(verdict)
            if error is not None and verdict.status != "error":
                # What a person reads under plain pytest: the message, not a trace through the grader.
                report.longrepr = f"{verdict.status}: {verdict.message}"
        return report

    def pytest_internalerror(self, excrepr: Any) -> None:
        """pytest itself, or a hook, failed: kept, so that the report can say so."""
        self.trouble = str(excrepr).strip().splitlines()[-1]

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        """A check file that cannot be imported takes no check away unseen."""
        if report.failed:
            self.trouble = str(report.longrepr).strip().splitlines()[-1]

    # --- verdicts ---------------------------------------------------------------------------------------------------

    def _verdict(self, row: Check, needs: tuple[str, ...], error: BaseException | None) -> Verdict:
        notes = self._notes.get(row.id, Notes())
        make = functools.partial(
            Verdict,
            id=row.id,
            criterion=row.criterion,
            title=row.title,
            max_score=row.points,
            visibility=row.visibility,
            evidence=notes.evidence,
        )
        if error is None:
            return make(status="passed", score=row.points, message=notes.message)
        if isinstance(error, Failed):
            diagnosis = _diagnosis(error.diagnosis)
            score = row.points / 2 if error.status == "partial" else 0
            return make(status=error.status, score=score, message=clean(str(error), MESSAGE), diagnosis=diagnosis)
        if isinstance(error, StudentError):
            told = tell(error, needs)
            diagnosis = _diagnosis(told.diagnosis)
            return make(status=told.status, score=0, message=clean(told.message, MESSAGE), diagnosis=diagnosis)
        # A right submission never comes here: its answers are ordinary, and what they raise is the grader's mistake.
        if isinstance(error, WireError) or (self.student.odd and isinstance(error, OF_ODD)):
            reason = clean(f"{type(error).__name__}: {error}", MESSAGE // 2)
            return make(
                status="failed",
                score=0,
                message=f"The answer could not be used: {reason}. {IF_RIGHT}",
                evidence=notes.evidence | {"unusable": f"{_where(error)}: {reason}"},
            )
        return make(status="error", score=0, message=f"The grader failed here: {type(error).__name__}: {error}")

    def absent(self, row: Check, reason: str) -> Verdict:
        """The verdict of a check that did not run: an error where there is a ``reason``, else not asked for."""
        status: Any = "error" if reason else "skipped"
        return Verdict(
            id=row.id,
            criterion=row.criterion,
            title=row.title,
            status=status,
            score=0,
            max_score=row.points,
            visibility=row.visibility,
            message=f"The grader failed here: {reason}" if reason else "not asked for in this run",
        )


@contextmanager
def _nothing_stays() -> Iterator[None]:
    """Collect what a session of pytest leaves in cycles, before it adds up from one submission to the next.

    What is there before is set aside meanwhile, since looking through it takes 15 ms, and is then as it was: this may
    be a process of somebody else, such as a notebook.
    """
    gc.freeze()
    try:
        yield
    finally:
        gc.collect()
        gc.unfreeze()


@_nothing_stays()
def grade(
    submission: Submission,
    zygote: Zygote,
    rubric: Rubric,
    *,
    secret: bytes = PUBLIC_SECRET,
    only: str | None = None,
    on_verdict: Callable[[Verdict], None] = lambda _: None,
    mode: Literal["local", "official"] = "local",
    accepted: tuple[str, ...] = (),
) -> Report:
    """Run all checks on ``submission``. Raises SandboxError when the grader's own processes fail.

    ``mode`` and ``accepted`` say in the report under which conditions it was graded; they change nothing else.
    """
    started = time.perf_counter()
    suite = Suite(submission, zygote, rubric, secret, on_verdict, only)
    facts = zygote.ready()
    try:
        with _without_options(), np.errstate(all="ignore"):  # a student's numbers may be any
            code = pytest.main([*OPTIONS, str(CHECKS)], plugins=[suite])
        if code == pytest.ExitCode.INTERRUPTED and not suite.trouble:
            raise KeyboardInterrupt
        unwritten = tuple(_unwritten(suite.student))
        remarks = tuple(_remarks(suite.student))
        suite.close()
        held = suite.student.held
        reason = suite.trouble
        if not reason and code not in ENDED:
            reason = f"pytest ended with {code!r}"
        verdicts = []
        for row in rubric.checks:
            asked = only in (None, row.criterion)
            verdict = suite.verdicts.get(row.id)
            verdicts.append(verdict or suite.absent(row, (reason or "it never ran") if asked else ""))
    finally:
        suite.close()
    checks = tuple(verdicts)
    score, max_score, bonus = reports.totals(checks, {c.id for c in rubric.criteria if c.bonus}, rubric.total)
    return Report(
        assignment=ASSIGNMENT.name,
        submission=reports.SubmissionFacts(
            id=submission.id, sha256=submission.sha256, form=submission.form, files=tuple(submission.handed_in)
        ),
        provenance=reports.Provenance(
            grader=grader_version(),
            rubric=rubric.version,
            seed_id=secrets.identify(secret),
            torch=facts["torch"],
            python=facts["python"],
            platform=facts["platform"],
            confinement=held,
            mode=mode,
            accepted=accepted,
        ),
        score=score,
        max_score=max_score,
        bonus=bonus,
        gradable=all(check.status != "error" for check in checks),
        criteria=tuple(
            reports.CriterionFacts(id=c.id, title=c.title, task=c.task, bonus=c.bonus) for c in rubric.criteria
        ),
        checks=checks,
        unwritten=unwritten,
        remarks=remarks,
        output=suite.student.output,
        timing=reports.Timing(wall=time.perf_counter() - started, cpu=suite.student.cpu, checks=suite.cpu),
    )


@functools.cache
def grader_version() -> str:
    """The release, and a hash of the files that decide verdicts, so that two graders are never taken for one."""
    root = Path(__file__).parent
    digest = hashlib.sha256()
    parts = ("checks", "oracle", "sandbox")
    for path in sorted([*root.glob("*.py"), *(p for part in parts for p in (root / part).rglob("*.py"))]):
        digest.update(path.relative_to(root).as_posix().encode() + path.read_bytes())
    return f"{autograder.__version__}+{digest.hexdigest()[:12]}"


def _where(error: BaseException) -> str:
    """Name the file and line of the grader where an exception arose."""
    *_, frame = traceback.extract_tb(error.__traceback__)
    return f"{Path(frame.filename).name}:{frame.lineno}"


def _diagnosis(causes: Iterable[tuple[str, str]]) -> tuple[reports.Diagnosis, ...]:
    return tuple(reports.Diagnosis(mistake=name, sentence=sentence) for name, sentence in causes)


def _unwritten(student: Student) -> Iterator[reports.Unwritten]:
    """The definitions of the contract that are absent or stubs, in the order in which to write them."""
    for entry in ASSIGNMENT.contract:
        if entry.optional:
            continue
        try:
            file, line, stubs = student.written(entry.name, entry.module)
        except StudentError as error:
            if not isinstance(error, Absent) or isinstance(error, Broken):
                continue  # it may be there, but does not load: the verdicts say why
            file, line, stubs = "", 0, (entry.name,)
        if stubs:
            yield reports.Unwritten(
                name=entry.name,
                file=file or student.called(entry.module),
                line=line,
                task=entry.task,
                what=entry.what,
            )


def _remarks(student: Student) -> Iterator[str]:
    """What happened beside the checks: the first few statements that did not go through, and what was left out."""
    troubles = student.troubles
    for file, remote in troubles[:REMARKS]:
        yield f"{clean(raised.told(Raised(file, remote)), MESSAGE)} What else is defined there is graded."
    if len(troubles) > REMARKS:
        yield f"At least {len(troubles) - REMARKS} more statements did not go through either."
    if left := student.left_out:
        several = f"{left.count} other statements were" if left.count > 1 else "One other statement was"
        yield (
            f"Of a notebook, definitions are graded, with what they use. {several} not run"
            f"{', the first' if left.count > 1 else ''} in {left.place}, line {left.line}: `{left.text}`."
        )


def identity(item: pytest.Item) -> str:
    """The id of a check: ``test_full_model`` in causality.py is ``causality.full_model``."""
    return f"{item.path.stem}.{item.name.removeprefix('test_')}"


def _needs(item: pytest.Item) -> tuple[str, ...]:
    """The definitions that a check is about (the first) and rests on, as its ``needs`` mark declares."""
    mark = item.get_closest_marker("needs")
    return tuple(mark.args) if mark else ()


@contextmanager
def _without_options() -> Iterator[None]:
    """Hide options that the environment has for other uses of pytest."""
    saved = {name: os.environ.pop(name) for name in ("PYTEST_ADDOPTS", "PYTEST_PLUGINS") if name in os.environ}
    try:
        yield
    finally:
        os.environ.update(saved)
