"""Run the checks under pytest and turn the outcomes into verdicts, exactly one for every check of the rubric.

The same plugin serves ``grade`` and plain pytest (standalone.py). An assignment's checks are the files in its folder
``checks``, one per criterion; its conftest.py adds to the fixtures of all assignments (fixtures.py).
"""

from __future__ import annotations

import functools
import gc
import hashlib
import hmac
import math
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
from autograder.core.assignment import Assignment
from autograder.core.paths import PACKAGE
from autograder.core.text import clean
from autograder.grading import exceptions, fixtures
from autograder.grading import report as reports
from autograder.grading import secret as secrets
from autograder.grading.locate import Locator
from autograder.grading.report import Location, Report, Verdict
from autograder.grading.rubric import Check, Rubric, Selection, select
from autograder.grading.verdict import Failed, Notes, Partial, explain_error
from autograder.sandbox.remote.client import Zygote
from autograder.sandbox.remote.errors import ImportFailed, NotDefined, NotImplementedYet, Raised, StudentError
from autograder.sandbox.remote.oracle_process import OracleProcess
from autograder.sandbox.remote.student_code import StudentCode
from autograder.sandbox.remote.wire import WireError
from autograder.submission.read import Submission

PUBLIC_SECRET = secrets.PUBLIC
MAX_MESSAGE = 900  # characters, since student text in it may be long
APPEAL = "If you think your answer is correct, show this message to your instructor."
MAX_WARNINGS = 5  # warnings to show that belong to no check

# Each plugin costs time for every submission.
DISABLED_PLUGINS = (
    *("terminal", "capture", "assertion", "reports", "cacheprovider", "logging", "warnings", "doctest", "unittest"),
    *("junitxml", "faulthandler", "pastebin", "stepwise", "unraisableexception", "threadexception", "debugging"),
    *("legacypath", "tmpdir", "monkeypatch", "recwarn", "setuponly", "setupplan", "skipping", "subtests"),
)
OPTIONS = ("-c", os.devnull, "--disable-plugin-autoload", *(f"-pno:{name}" for name in DISABLED_PLUGINS))
DEDUCTS = "deducts: the check adds the mistakes it names to `deducted`; other checks don't deduct for them again"
NEEDS = "needs(*names): definitions that the check grades (the first) and depends on (the others)"
ABOUT = "about(*names): definitions that a file of checks is about; correct ones may take the place of any other"

# Exceptions that an odd reply can cause in a check that computes with it, although every parser accepts it.
ODD_REPLY_ERRORS = (ArithmeticError, AttributeError, IndexError, KeyError, TypeError, ValueError)

VERDICT_FOLDERS = ("core", "grading", "sandbox", "submission")  # the package's folders that decide verdicts

NORMAL_EXITS = (pytest.ExitCode.OK, pytest.ExitCode.TESTS_FAILED, pytest.ExitCode.NO_TESTS_COLLECTED)


class Suite:
    """A pytest plugin that supplies the checks' fixtures and records their verdicts."""

    def __init__(
        self,
        assignment: Assignment,
        submission: Submission,
        zygote: Zygote,
        rubric: Rubric,
        secret: bytes = PUBLIC_SECRET,
        on_verdict: Callable[[Verdict], None] = lambda _: None,
        only: Selection | None = None,
    ) -> None:
        self.__name__ = fixtures.SUITE  # the name under which pytest registers a plugin
        self.verdicts: dict[str, Verdict] = {}
        self.cpu: dict[str, float] = {}
        self.selected: set[str] = set()  # the ids of the checks that were asked for
        self.trouble = ""
        self.assignment = assignment
        self.carry_forward = rubric.carry_forward
        self.carried: dict[str, list[str]] = {}  # definitions replaced with correct ones, by check or file of checks
        self._submission, self._secret, self._only, self._on_verdict = submission, secret, only, on_verdict
        self._rows = {check.id: check for check in rubric.checks}
        self._late_hints = {criterion.id for criterion in rubric.criteria if criterion.late_hints}
        self.student = StudentCode(zygote, submission.files, assignment.contract)
        given = [name for name, data in submission.files.items() if _is_given(assignment, name, data)]
        self.locator = Locator(submission.files, given, assignment.contract.names)
        self.oracle = OracleProcess(zygote, assignment)
        self._steps: dict[tuple[str, str], Location] = {}  # the wrong step behind an exception, by its place and type
        self._crashes: set[tuple[str, str]] = set()  # the places and types of exceptions so far
        self._wrong_parts: dict[str, Location] = {}  # where a class is built with wrong arguments, by its name
        self._notes: dict[str, Notes] = {}
        self._cpu_counted = self._measure_cpu()

    def _measure_cpu(self) -> float:
        """Return the CPU seconds so far of the submission's processes, the oracle and this process."""
        return self.student.cpu + self.oracle.cpu + time.process_time()

    def close(self) -> None:
        """End the processes of this run."""
        self.student.close()

    # --- used by fixtures -------------------------------------------------------------------------------------------

    def get_notes(self, item: pytest.Item) -> Notes:
        """Return the notes of the check ``item``."""
        return self._notes.setdefault(get_check_id(item), Notes())

    def make_check_generator(self, item: pytest.Item) -> np.random.Generator:
        """Return a generator for the check ``item`` alone."""
        return self.make_generator(get_check_id(item))

    def make_generator(self, label: str) -> np.random.Generator:
        """Return a generator seeded by the secret, the submission and ``label`` alone."""
        message = f"{self._submission.sha256}/{label}".encode()
        return np.random.default_rng(int.from_bytes(hmac.digest(self._secret, message, "sha256"), "little"))

    # --- hooks ------------------------------------------------------------------------------------------------------

    def pytest_configure(self, config: pytest.Config) -> None:
        """Register the marks of checks, and format no tracebacks: nobody sees them, and each costs 50 ms."""
        config.addinivalue_line("markers", NEEDS)
        config.addinivalue_line("markers", ABOUT)
        config.addinivalue_line("markers", DEDUCTS)
        vars(config.option).setdefault("tbstyle", "no")

    def pytest_collect_file(self, file_path: Path, parent: pytest.Collector) -> pytest.Module | None:
        """Collect checks from files without ``test_`` in the name, whatever the configuration says."""
        is_own = file_path.parent == self.assignment.checks and file_path.suffix == ".py"
        if not is_own or file_path.stem in ("__init__", "conftest"):
            return None
        if parent.session.isinitpath(file_path):  # pytest collects a file named on the command line anyway
            return None
        module: pytest.Module = pytest.Module.from_parent(parent, path=file_path)
        return module

    def pytest_collection_modifyitems(self, config: pytest.Config, items: list[pytest.Item]) -> None:
        """Sort checks in rubric order, deselect those not asked for, and refuse a check without a rubric row."""
        unknown = [get_check_id(item) for item in items if get_check_id(item) not in self._rows]
        if unknown:
            self.trouble = f"no row in rubric.toml for {', '.join(unknown)}"
            raise pytest.UsageError(self.trouble)
        order = {own: position for position, own in enumerate(self._rows)}
        items.sort(key=lambda item: order[get_check_id(item)])
        kept = [item for item in items if self._is_selected(item)]
        self.selected = {get_check_id(item) for item in kept}
        # A class's own check deducts first, so that others can see what was already deducted.
        asking = [order[get_check_id(item)] for item in kept if "deducted" in getattr(item, "fixturenames", ())]
        before = [item for item in items[: max(asking, default=0)] if item.get_closest_marker("deducts")]
        left = [item for item in items if item not in kept and item not in before]
        if left:
            config.hook.pytest_deselected(items=left)
            items[:] = [item for item in items if item not in left]

    def _is_selected(self, item: pytest.Item) -> bool:
        """Return whether the verdict on a check was asked for."""
        if self._only is None or self._rows[get_check_id(item)].criterion in self._only.criteria:
            return True
        return not self._only.definitions.isdisjoint(_get_needs(item)[:1])

    def pytest_runtest_setup(self, item: pytest.Item) -> None:
        """Require the definitions that a check declares as needed, before it runs."""
        for name in _get_needs(item):
            self.student.require(name)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(
        self, item: pytest.Item, call: pytest.CallInfo[None]
    ) -> Generator[None, pytest.TestReport, pytest.TestReport]:
        report = yield
        error = call.excinfo.value if call.excinfo else None
        own = get_check_id(item)
        spent = self._measure_cpu()
        self.cpu[own] = self.cpu.get(own, 0.0) + spent - self._cpu_counted
        self._cpu_counted = spent
        if (
            isinstance(error, KeyboardInterrupt)
            or (error is None and call.when != "call")
            or not self._is_selected(item)
        ):
            return report
        if own not in self.verdicts or error is not None:
            verdict = self._make_verdict(self._rows[own], _get_needs(item), error)
            replaced = self.carried.get(own, self.carried.get(item.path.stem))
            if replaced and not isinstance(error, StudentError):  # then nothing was measured
                verdict = _add_replaced(verdict, replaced)
            self.verdicts[own] = verdict
            self._on_verdict(verdict)
            if error is not None and verdict.status != "error":
                # Plain pytest then shows the message, not a traceback through the grader.
                report.longrepr = f"{verdict.status}: {verdict.message}"
        return report

    def pytest_internalerror(self, excrepr: Any) -> None:
        """Record a failure of pytest or a hook for the report."""
        self.trouble = str(excrepr).strip().splitlines()[-1]

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        """Record a check file that cannot be imported, since its checks would be lost silently."""
        if report.failed:
            self.trouble = str(report.longrepr).strip().splitlines()[-1]

    # --- verdicts ---------------------------------------------------------------------------------------------------

    def _make_verdict(self, row: Check, needs: tuple[str, ...], error: BaseException | None) -> Verdict:
        notes = self._notes.get(row.id, Notes())
        make = functools.partial(
            Verdict,
            id=row.id,
            criterion=row.criterion,
            title=row.title,
            max_score=row.points,
            visibility=row.visibility,
            location=None if error is None else self._locate(error, needs),
            evidence=notes.evidence,
        )
        if error is None:
            return make(status="passed", score=row.points, message=notes.message)
        if isinstance(error, Failed):
            diagnosis = _make_diagnosis(error.diagnosis)
            score = math.floor(2 * row.points * error.share) / 2 if isinstance(error, Partial) else 0
            is_late = row.criterion in self._late_hints
            message = clean(error.measured if is_late else str(error), MAX_MESSAGE)
            hint = clean(error.explanation, MAX_MESSAGE) if is_late else ""
            evidence = notes.evidence | ({"symptom": error.symptom} if error.symptom else {})
            return make(
                status=error.status, score=score, message=message, hint=hint, diagnosis=diagnosis, evidence=evidence
            )
        if isinstance(error, StudentError):
            found = explain_error(error, needs, self.assignment.exceptions)
            diagnosis = _make_diagnosis(found.diagnosis, is_symptom=True)
            return make(status=found.status, score=0, message=clean(found.message, MAX_MESSAGE), diagnosis=diagnosis)
        # An exception on an ordinary reply would be the grader's fault.
        if isinstance(error, WireError) or (self.student.has_odd_reply and isinstance(error, ODD_REPLY_ERRORS)):
            reason = clean(f"{type(error).__name__}: {error}", MAX_MESSAGE // 2)
            return make(
                status="failed",
                score=0,
                message=f"The returned value could not be used: {reason}. {APPEAL}",
                evidence=notes.evidence | {"unusable": f"{_locate_error(error)}: {reason}"},
            )
        return make(status="error", score=0, message=f"The grader failed here: {type(error).__name__}: {error}")

    def _locate(self, error: BaseException, needs: tuple[str, ...]) -> Location | None:
        """Return the place in the submission that explains ``error``, raised by a check that needs ``needs``."""
        locator, graded = self.locator, needs[0] if needs else ""
        cause = next((one for one in error.causes if one.where), None) if isinstance(error, Failed) else None
        if isinstance(error, Failed) and error.error is not None:
            line = locator.locate_exception(error.error.call, error.error.remote)
            step = locator.locate_definition(cause.where, cause.pattern) if cause and cause.pattern else None
            if line and step:  # later checks may raise there as well, and show the same place
                self._steps[line.place, line.raised] = step.model_copy(update={"raised": line.raised})
            error = error.error
        if isinstance(error, Failed) and error.part:
            built = locator.locate_definition(f"{graded}.__init__", rf"\b{error.part}\(")
            if built:
                self._wrong_parts[error.part] = built = built.model_copy(update={"raised": "arguments"})
            return built
        if isinstance(error, NotImplementedYet):
            return locator.locate_line(error.frame.file, error.frame.line, error.frame.where)
        if isinstance(error, (ImportFailed, Raised)):
            line = locator.locate_exception(error.call, error.remote)
            parts = {frame.where.partition(".")[0] for frame in error.remote.frames}
            if line and (line.place, line.raised) not in self._crashes:
                if built := next((self._wrong_parts[name] for name in self._wrong_parts if name in parts), None):
                    return built
                self._crashes.add((line.place, line.raised))
            known = exceptions.find_cause(error.remote, self.assignment.exceptions)
            if line and known and known.pattern and (step := locator.locate_definition(line.where, known.pattern)):
                return step.model_copy(update={"raised": line.raised})
            return line and self._steps.get((line.place, line.raised), line)
        if isinstance(error, NotDefined):
            if error.name.endswith(".py"):
                return Location(file=clean(error.name, 80))
            return Location(file=clean(self.student.file_of(error.name), 80), where=clean(error.name, 80))
        if isinstance(error, StudentError):
            return locator.locate_call(error.call)
        if isinstance(error, Failed):
            return locator.locate_definition(cause.where, cause.pattern) if cause else locator.locate_definition(graded)
        return None

    def make_verdict_without_run(self, row: Check, reason: str) -> Verdict:
        """Return the verdict of a check that did not run: an error if there is a ``reason``, else skipped."""
        status: Any = "error" if reason else "skipped"
        return Verdict(
            id=row.id,
            criterion=row.criterion,
            title=row.title,
            status=status,
            score=0,
            max_score=row.points,
            visibility=row.visibility,
            message=f"The grader failed here: {reason}" if reason else "not selected in this run",
        )


@contextmanager
def _collect_garbage() -> Iterator[None]:
    """Run the garbage collector after each grading; objects that existed before are frozen meanwhile.

    Scanning them would take 15 ms. They are unfrozen afterwards, since the process may be a caller's.
    """
    gc.freeze()
    try:
        yield
    finally:
        gc.collect()
        gc.unfreeze()


@_collect_garbage()
def grade(
    assignment: Assignment,
    submission: Submission,
    zygote: Zygote,
    rubric: Rubric,
    *,
    secret: bytes = PUBLIC_SECRET,
    only: str | None = None,
    on_verdict: Callable[[Verdict], None] = lambda _: None,
    mode: Literal["local", "official"] = "local",
    accepted_risks: tuple[str, ...] = (),
) -> Report:
    """Run all checks on ``submission``, or ``only`` a part. Raises SandboxError when the grader's own processes fail.

    ``mode`` and ``accepted_risks`` only record the grading conditions in the report.
    """
    started = time.perf_counter()
    selection = None if only is None else select(rubric, assignment.contract, only)
    suite = Suite(assignment, submission, zygote, rubric, secret, on_verdict, selection)
    facts = zygote.wait_until_ready()
    try:
        with _clear_pytest_options(), np.errstate(all="ignore"):  # a student's numbers can be anything
            folder = str(assignment.checks)
            code = pytest.main(
                [*OPTIONS, "--rootdir", folder, "--confcutdir", folder, folder], plugins=[suite, fixtures]
            )
        if code == pytest.ExitCode.INTERRUPTED and not suite.trouble:
            raise KeyboardInterrupt
        not_implemented = tuple(_list_not_implemented(suite.student, assignment))
        warnings = tuple(_list_warnings(suite.student, suite.locator, assignment))
        notes = tuple(_list_notes(suite.student))
        suite.close()
        layers = suite.student.layers
        reason = suite.trouble
        if not reason and code not in NORMAL_EXITS:
            reason = f"pytest ended with {code!r}"
        verdicts = []
        for row in rubric.checks:
            asked = selection is None or row.id in suite.selected or row.criterion in selection.criteria
            verdict = suite.verdicts.get(row.id)
            verdicts.append(
                verdict or suite.make_verdict_without_run(row, (reason or "the check never ran") if asked else "")
            )
    finally:
        suite.close()
    checks = tuple(verdicts)
    score, max_score, bonus = reports.compute_totals(checks, {c.id for c in rubric.criteria if c.bonus}, rubric.total)
    return Report(
        assignment=assignment.name,
        submission=reports.SubmissionFacts(
            id=submission.id, sha256=submission.sha256, format=submission.format, files=tuple(submission.names)
        ),
        provenance=reports.Provenance(
            grader=grader_version(assignment),
            rubric=rubric.version,
            seed_id=secrets.identify(secret),
            torch=facts["torch"],
            python=facts["python"],
            platform=facts["platform"],
            sandbox=layers,
            mode=mode,
            accepted_risks=accepted_risks,
        ),
        score=score,
        max_score=max_score,
        bonus=bonus,
        gradable=all(check.status != "error" for check in checks),
        criteria=tuple(
            reports.CriterionFacts(id=c.id, title=c.title, task=c.task, bonus=c.bonus) for c in rubric.criteria
        ),
        checks=checks,
        not_implemented=not_implemented,
        warnings=warnings,
        notes=notes,
        output=suite.student.output,
        timing=reports.Timing(wall=time.perf_counter() - started, cpu=suite.student.cpu, checks=suite.cpu),
    )


@functools.cache
def grader_version(assignment: Assignment) -> str:
    """Return the release and a hash of the files that decide verdicts, so that no two graders share a version."""
    digest = hashlib.sha256()
    for part in (*(PACKAGE / name for name in VERDICT_FOLDERS), assignment.folder):
        for path in sorted(part.rglob("*.py")):
            digest.update(path.relative_to(part.parent).as_posix().encode() + path.read_bytes())
    return f"{autograder.__version__}+{digest.hexdigest()[:12]}"


def _locate_error(error: BaseException) -> str:
    """Return the grader's file and line at which an exception was raised."""
    *_, frame = traceback.extract_tb(error.__traceback__)
    return f"{Path(frame.filename).name}:{frame.lineno}"


def _add_replaced(verdict: Verdict, replaced: list[str]) -> Verdict:
    """Return a verdict that says which definitions were replaced by correct ones."""
    names = f"{', '.join(replaced[:-1])} and {replaced[-1]}" if replaced[1:] else replaced[0]
    measured = f"Measured with a correct {names} in place of yours."
    update = {
        "message": f"{verdict.message} {measured}".strip(),
        "evidence": verdict.evidence | {"replaced": replaced},
    }
    return verdict.model_copy(update=update)


def _is_given(assignment: Assignment, name: str, data: bytes) -> bool:
    """Return whether a file is one that students are given, unedited."""
    given = assignment.handed_out / name
    return given.is_file() and given.read_bytes().split() == data.split()


def _make_diagnosis(causes: Iterable[tuple[str, str]], is_symptom: bool = False) -> tuple[reports.Diagnosis, ...]:
    return tuple(reports.Diagnosis(mistake=name, message=message, is_symptom=is_symptom) for name, message in causes)


def _list_not_implemented(student: StudentCode, assignment: Assignment) -> Iterator[reports.NotImplementedEntry]:
    """Yield the definitions of the contract that are absent or stubs, in the order of the handout."""
    for entry in assignment.contract.definitions:
        if entry.optional:
            continue
        try:
            file, line, stubs = student.locate(entry.name)
        except StudentError as error:
            if not isinstance(error, NotDefined) or isinstance(error, ImportFailed) or error.near:
                continue  # it may exist, but under another name, or its import failed: the verdicts say so
            file, line, stubs = "", 0, (entry.name,)
        if stubs:
            yield reports.NotImplementedEntry(
                name=entry.name,
                file=file or student.file_of(entry.name),
                line=line,
                task=entry.task,
                description=entry.description,
            )


def _list_warnings(student: StudentCode, locator: Locator, assignment: Assignment) -> Iterator[str]:
    """Yield warnings that belong to no check: the first few statements that raised, and stubs never reached."""
    messages = []
    for file, remote in student.failed_statements:
        cause = exceptions.find_cause(remote, assignment.exceptions)
        message = clean(exceptions.format_exception(Raised(file, remote), cause), MAX_MESSAGE)
        location = locator.locate_exception(file, remote)
        messages.append(location.introduce(message) if location else message)
    messages = list(dict.fromkeys(messages))  # statements that failed for the same reason
    for message in messages[:MAX_WARNINGS]:
        yield f"{message} Everything else defined there is graded."
    if len(messages) > MAX_WARNINGS:
        yield f"At least {len(messages) - MAX_WARNINGS} more statements also failed."
    for location in locator.find_unreached_stubs():
        yield f"{location.place}: this raise comes after a return, so it is never reached; delete it."


def _list_notes(student: StudentCode) -> Iterator[str]:
    """Yield facts that need no action: the statements of a notebook that were not run."""
    if skipped := student.skipped_statements:
        others = f"{skipped.count} other statements were" if skipped.count > 1 else "One other statement was"
        yield (
            f"Only a notebook's definitions and the code they use are graded. {others} not run"
            f"{', the first' if skipped.count > 1 else ''} in {skipped.place}, line {skipped.line}: `{skipped.text}`."
        )


def get_check_id(item: pytest.Item) -> str:
    """Return the id of a check: ``test_full_model`` in causality.py is ``causality.full_model``."""
    return f"{item.path.stem}.{item.name.removeprefix('test_')}"


def _get_needs(item: pytest.Item) -> tuple[str, ...]:
    """Return the definitions in a check's ``needs`` mark: the one it grades first, then those it depends on."""
    mark = item.get_closest_marker("needs")
    return tuple(mark.args) if mark else ()


@contextmanager
def _clear_pytest_options() -> Iterator[None]:
    """Hide pytest options that the environment sets for other uses."""
    saved = {name: os.environ.pop(name) for name in ("PYTEST_ADDOPTS", "PYTEST_PLUGINS") if name in os.environ}
    try:
        yield
    finally:
        os.environ.update(saved)
