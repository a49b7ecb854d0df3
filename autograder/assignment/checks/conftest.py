"""Fixtures of the checks, and support for plain pytest: ``pytest autograder/assignment/checks --submission PATH``."""

from __future__ import annotations

from dataclasses import replace

import pytest

from autograder.assignment import ASSIGNMENT
from autograder.assignment.measure import whole_model
from autograder.assignment.measure.comparison import Comparison
from autograder.assignment.measure.outputs import draw_shapes
from autograder.assignment.measure.parameter_usage import Claims, measure_claims
from autograder.assignment.measure.whole_model import WholeModel
from autograder.assignment.oracle.client import Oracle
from autograder.assignment.sizes import SIZES, Sizes
from autograder.grading import standalone
from autograder.grading.suite import Suite
from autograder.grading.verdict import Failed


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the option --submission."""
    standalone.add_option(parser)


def pytest_configure(config: pytest.Config) -> None:
    """Start the sandbox and the suite, unless ``grade`` has done so."""
    standalone.configure(config, ASSIGNMENT)


@pytest.fixture(scope="session")
def sizes() -> Sizes:
    """Return the sizes at which models are graded."""
    return SIZES


@pytest.fixture(scope="session")
def oracle(suite: Suite) -> Oracle:
    """Return the oracle, the correct model."""
    return Oracle(suite.oracle)


@pytest.fixture(scope="session")
def shapes(suite: Suite) -> list[tuple[int, int]]:
    """Return the pairs (B, T) used by all checks of a class alone: honest code may cache results per length."""
    return draw_shapes(suite.make_generator("shapes"))


@pytest.fixture(scope="session")
def layouts() -> dict[str, Comparison]:
    """Return each class's comparison with the oracle, by component; unknown classes have no entry."""
    return {}


@pytest.fixture(scope="session")
def whole(suite: Suite, sizes: Sizes, oracle: Oracle, layouts: dict[str, Comparison], deducted: set[str]) -> WholeModel:
    """Compare the full model with the oracle; the mark ``deducts`` makes the classes' own checks run first."""
    rng = suite.make_generator("whole_model")
    return whole_model.compare_whole_model(suite.student, oracle, layouts, sizes.course, replace(sizes.small, L=3), rng)


@pytest.fixture(scope="session")
def claims(suite: Suite, sizes: Sizes, whole: WholeModel) -> Claims:
    """Test the full model's claims; they hold if it is the composition of correct classes."""
    if whole.layout and not whole.mistakes:
        return Claims(steady=True)
    found = measure_claims(suite.student, sizes.small, suite.make_generator("claims"))
    if whole.unused and not found.about_parameters:
        return replace(found, about_parameters=whole.unused, hint=whole_model.UNUSED, causes=tuple(whole.causes))
    return found


@pytest.fixture
def logits_depend_on_weights(claims: Claims) -> None:
    """Raise Failed if the logits don't depend on the weights, which every check of the full model assumes."""
    if claims.about_logits:
        raise Failed(claims.about_logits, "Does forward compute its result from the parameters?")
