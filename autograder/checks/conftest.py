"""The checks' fixtures, and what plain pytest needs: ``pytest autograder/checks --submission PATH``."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

from autograder import rubric
from autograder.assignment import ASSIGNMENT, Assignment
from autograder.checks import ladder
from autograder.oracle.handle import Oracle
from autograder.outcome import Failed, Notes
from autograder.sandbox.errors import StudentError
from autograder.sandbox.process import Zygote
from autograder.sandbox.student import Student
from autograder.submission import BadSubmission, read
from autograder.suite import Suite, identity

HERE = Path(__file__).parent
NEEDS = "needs(*names): definitions that the check is about (the first) and rests on (the others)"


def pytest_addoption(parser: pytest.Parser) -> None:
    """The one option that these tests need."""
    parser.addoption("--submission", type=Path, help="the file or folder that a student handed in")


def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> pytest.Module | None:
    """Checks are in files without ``test_`` in the name, whatever the configuration in force says."""
    own = file_path.parent == HERE and file_path.suffix == ".py" and file_path.name != "conftest.py"
    if not own or parent.session.isinitpath(file_path):  # a file named on the command line is collected anyway
        return None
    module: pytest.Module = pytest.Module.from_parent(parent, path=file_path)
    return module


def pytest_configure(config: pytest.Config) -> None:
    """Start what the checks need, unless ``grade`` has brought it along."""
    config.addinivalue_line("markers", NEEDS)
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
    """The submission, in one process per check file."""
    yield suite.student
    suite.student.close()


@pytest.fixture(scope="session")
def oracle(suite: Suite) -> Oracle:
    """The right model."""
    return suite.oracle


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


@dataclass(frozen=True)
class Claims:
    """What a small GPT's parameters come to when they are set and its logits are looked at; "" where all is well.

    What a model says of itself (how many parameters, which loss, which shapes) counts only for a model that computes
    with these parameters. Where it does not run at all, the checks themselves say so.
    """

    about_logits: str = ""
    about_parameters: str = ""


@pytest.fixture(scope="session")
def claims(suite: Suite, assignment: Assignment) -> Claims:
    """The whole model, put to the test."""
    n, rng = assignment.small, suite.generator("claims")
    idx = rng.integers(0, n.V, (2, 7))
    try:
        model = suite.student.build("GPT", n.arguments())
        weights = ladder.random_weights(model, rng)
        first, again = (ladder.logits(model(idx), (2, 7, n.V)) for _ in range(2))
    except (Failed, StudentError):
        return Claims()
    if not np.array_equal(first, again):
        said = "For the same weights and the same tokens, forward gave other logits the second time."
        return Claims(said, said)
    try:
        model.push(weights)
        kept = model.pull()
        unset = sum(name not in kept or not np.array_equal(value, kept[name]) for name, value in weights.items())
    except StudentError:
        unset = len(weights)
    if unset:
        return Claims(
            about_parameters=f"Of the parameters of a small GPT, {unset} do not hold what is written to them."
        )
    dead = sum(p.size for p in ladder.silent(model, idx, weights, model.numel // 2 + 1))
    if not dead:
        return Claims()
    said = f"Of the {model.numel:,} parameters of a small GPT, {dead:,} can be changed and no logit moves."
    return Claims(said if dead == model.numel else "", said)


@pytest.fixture
def follows(claims: Claims) -> None:
    """Fails where the logits do not follow the weights, which any check of the whole model takes for granted."""
    if claims.about_logits:
        raise Failed(claims.about_logits, "Do the logits come from the weights and idx, and from nothing else?")


@pytest.fixture
def counts(claims: Claims) -> None:
    """Fails where most of the parameters are only stored, so that their number says nothing."""
    if claims.about_parameters:
        raise Failed(claims.about_parameters, "Does x go through all blocks, from the embeddings to the logits?")
