"""Fixtures of the checks, and support for plain pytest: ``pytest autograder/checks --submission PATH``."""

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
}  # files here without checks
CHARGES = "charges: the check adds the mistakes it names to `charged`; other checks don't deduct for them again"
NEEDS = "needs(*names): definitions that the check is about (the first) and depends on (the others)"


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the option --submission."""
    parser.addoption("--submission", type=Path, help="the submitted file or folder")


def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> pytest.Module | None:
    """Collect checks from files without ``test_`` in the name, whatever the configuration says."""
    own = file_path.parent == HERE and file_path.suffix == ".py" and file_path.stem not in HELPERS
    if not own or parent.session.isinitpath(file_path):  # pytest collects a file named on the command line anyway
        return None
    module: pytest.Module = pytest.Module.from_parent(parent, path=file_path)
    return module


def pytest_configure(config: pytest.Config) -> None:
    """Start the sandbox and the suite, unless ``grade`` has done so."""
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
    """Return the run that these checks belong to."""
    suite = request.config.pluginmanager.get_plugin(Suite.NAME)
    assert isinstance(suite, Suite)
    return suite


@pytest.fixture(scope="session")
def assignment() -> Assignment:
    """Return the course configuration and the required definitions."""
    return ASSIGNMENT


@pytest.fixture(scope="module")
def student(suite: Suite) -> Iterator[Student]:
    """Yield the submission; modules built for one file of checks are released after it."""
    yield suite.student
    suite.student.release()


@pytest.fixture(scope="session")
def oracle(suite: Suite) -> Oracle:
    """Return the oracle, the correct model."""
    return suite.oracle


@pytest.fixture(scope="session")
def shapes(suite: Suite) -> list[tuple[int, int]]:
    """Return the pairs (B, T) used by all checks of a class alone: honest code may cache results per length."""
    return draw_shapes(suite.generator("shapes"))


@pytest.fixture(scope="session")
def charged() -> set[str]:
    """Return the names of mistakes that are already deducted."""
    return set()


@pytest.fixture(scope="session")
def layouts() -> dict[str, Judged]:
    """Return each class's comparison with the oracle, by component; unknown classes have no entry."""
    return {}


@pytest.fixture(scope="session")
def whole(suite: Suite, assignment: Assignment, oracle: Oracle, layouts: dict[str, Judged], charged: set[str]) -> Whole:
    """Compare the full model with the oracle, after the classes' own checks (an order that ``charged`` ensures)."""
    rng = suite.generator("whole_model")
    return whole_model.examine(suite.student, oracle, layouts, assignment.course, replace(assignment.small, L=3), rng)


@pytest.fixture
def notes(suite: Suite, request: pytest.FixtureRequest) -> Notes:
    """Return the remarks and measurements of the check."""
    return suite.notes_of(request.node)


@pytest.fixture
def rng(suite: Suite, request: pytest.FixtureRequest) -> np.random.Generator:
    """Return a generator for this check alone."""
    return suite.generator(identity(request.node))


@pytest.fixture(scope="module")
def shared_rng(suite: Suite, request: pytest.FixtureRequest) -> np.random.Generator:
    """Return a generator for the fixtures that the checks of one file share."""
    return suite.generator(request.path.stem)


@pytest.fixture(scope="session")
def claims(suite: Suite, assignment: Assignment, whole: Whole) -> Claims:
    """Test the full model's claims; they hold if it is the composition of correct classes."""
    if whole.layout and not whole.mistakes:
        return Claims(steady=True)
    found = measure(suite.student, assignment.small, suite.generator("claims"))
    if whole.unused and not found.about_parameters:
        return replace(found, about_parameters=whole.unused, hint=whole_model.UNUSED, causes=tuple(whole.causes))
    return found


@pytest.fixture
def follows(claims: Claims) -> None:
    """Raise Failed if the logits don't depend on the weights, which every check of the full model assumes."""
    if claims.about_logits:
        raise Failed(claims.about_logits, "Does forward compute its result from the parameters?")
