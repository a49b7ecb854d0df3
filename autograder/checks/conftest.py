"""The checks' fixtures, and what plain pytest needs: ``pytest autograder/checks --submission PATH``."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from autograder import rubric
from autograder.assignment import ASSIGNMENT, Assignment
from autograder.checks import whole_model
from autograder.checks.claims import Claims, measure
from autograder.checks.ladder import draw_shapes
from autograder.checks.matching import Judged
from autograder.checks.whole_model import Whole
from autograder.oracle.handle import Oracle
from autograder.outcome import Failed, Notes
from autograder.sandbox.process import Zygote
from autograder.sandbox.student import Student
from autograder.submission import BadSubmission, read
from autograder.suite import Suite, identity

HERE = Path(__file__).parent
HELPERS = {
    "__init__",
    "conftest",
    "claims",
    "formulas",
    "ladder",
    "matching",
    "whole_model",
}  # files here that hold no checks
CHARGES = "charges: the check puts the mistakes that it names into `charged`; others don't charge them again"
NEEDS = "needs(*names): definitions that the check is about (the first) and rests on (the others)"


def pytest_addoption(parser: pytest.Parser) -> None:
    """The one option that these tests need."""
    parser.addoption("--submission", type=Path, help="the file or folder that a student handed in")


def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> pytest.Module | None:
    """Checks are in files without ``test_`` in the name, whatever the configuration in force says."""
    own = file_path.parent == HERE and file_path.suffix == ".py" and file_path.stem not in HELPERS
    if not own or parent.session.isinitpath(file_path):  # a file named on the command line is collected anyway
        return None
    module: pytest.Module = pytest.Module.from_parent(parent, path=file_path)
    return module


def pytest_configure(config: pytest.Config) -> None:
    """Start what the checks need, unless ``grade`` has brought it along."""
    config.addinivalue_line("markers", NEEDS)
    config.addinivalue_line("markers", CHARGES)
    if config.pluginmanager.has_plugin(Suite.NAME) or config.option.help:
        return
    path = config.getoption("--submission")
    if path is None:
        raise pytest.UsageError("the checks need a submission: pytest autograder/checks --submission PATH")
    try:
        submission = read(path)
    except BadSubmission as error:
        raise pytest.UsageError(str(error)) from None
    zygote = Zygote()
    suite = Suite(submission, zygote, rubric.load())
    config.pluginmanager.register(suite)
    config.add_cleanup(zygote.close)
    config.add_cleanup(suite.close)


@pytest.fixture(scope="session")
def suite(request: pytest.FixtureRequest) -> Suite:
    """The run that these checks belong to."""
    suite = request.config.pluginmanager.get_plugin(Suite.NAME)
    assert isinstance(suite, Suite)
    return suite


@pytest.fixture(scope="session")
def assignment() -> Assignment:
    """The course configuration and the contract."""
    return ASSIGNMENT


@pytest.fixture(scope="module")
def student(suite: Suite) -> Iterator[Student]:
    """The submission; what one file of checks builds, the next does not find."""
    yield suite.student
    suite.student.release()


@pytest.fixture(scope="session")
def oracle(suite: Suite) -> Oracle:
    """The right model."""
    return suite.oracle


@pytest.fixture(scope="session")
def shapes(suite: Suite) -> list[tuple[int, int]]:
    """The pairs (B, T) of all checks of a class by itself: honest code may keep what it has made for a length."""
    return draw_shapes(suite.generator("shapes"))


@pytest.fixture(scope="session")
def charged() -> set[str]:
    """Names of mistakes that have cost points in a check before."""
    return set()


@pytest.fixture(scope="session")
def layouts() -> dict[str, Judged]:
    """How each class compares with the oracle, by component; a class without an entry is not known as a whole."""
    return {}


@pytest.fixture(scope="session")
def whole(suite: Suite, assignment: Assignment, oracle: Oracle, layouts: dict[str, Judged], charged: set[str]) -> Whole:
    """The whole model beside the oracle, once the classes' own checks have run (as ``charged`` has them do)."""
    rng = suite.generator("whole_model")
    return whole_model.examine(suite.student, oracle, layouts, assignment.course, replace(assignment.small, L=3), rng)


@pytest.fixture
def notes(suite: Suite, request: pytest.FixtureRequest) -> Notes:
    """What the check says and measured."""
    return suite.notes_of(request.node)


@pytest.fixture
def rng(suite: Suite, request: pytest.FixtureRequest) -> np.random.Generator:
    """Random numbers of this check alone."""
    return suite.generator(identity(request.node))


@pytest.fixture(scope="module")
def shared_rng(suite: Suite, request: pytest.FixtureRequest) -> np.random.Generator:
    """Random numbers for what the checks of one file share."""
    return suite.generator(request.path.stem)


@pytest.fixture(scope="session")
def claims(suite: Suite, assignment: Assignment, whole: Whole) -> Claims:
    """The whole model, put to the test; nothing is left to test if it is the composition of correct classes."""
    if whole.layout and not whole.mistakes:
        return Claims(steady=True)
    found = measure(suite.student, assignment.small, suite.generator("claims"))
    if whole.unused and not found.about_parameters:
        cause = " ".join(row.told for row in whole.causes)
        return replace(found, about_parameters=whole.unused, hint=cause or whole_model.UNUSED)
    return found


@pytest.fixture
def follows(claims: Claims) -> None:
    """Fails where the logits do not follow the weights, which any check of the whole model takes for granted."""
    if claims.about_logits:
        raise Failed(claims.about_logits, "Is what forward returns computed from the parameters?")
