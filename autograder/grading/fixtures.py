"""Fixtures that the checks of every assignment can use."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from autograder.core.assignment import Cause
from autograder.grading.verdict import Notes
from autograder.sandbox.remote.student_code import StudentCode

if TYPE_CHECKING:
    from autograder.grading.suite import Suite

SUITE = "grading"  # the name under which the suite is registered


@pytest.fixture(scope="session")
def suite(request: pytest.FixtureRequest) -> Suite:
    """Return the current grading run."""
    plugin: Any = request.config.pluginmanager.get_plugin(SUITE)
    found: Suite = plugin
    return found


@pytest.fixture(scope="module")
def student(suite: Suite) -> Iterator[StudentCode]:
    """Yield the submission; objects built by one file of checks are released after that file."""
    yield suite.student
    suite.student.release()


@pytest.fixture(scope="session")
def deducted() -> set[Cause]:
    """Return the mistakes that are already deducted."""
    return set()


@pytest.fixture
def notes(suite: Suite, request: pytest.FixtureRequest) -> Notes:
    """Return the check's notes: its remark and its measurements."""
    return suite.get_notes(request.node)


@pytest.fixture
def rng(suite: Suite, request: pytest.FixtureRequest) -> np.random.Generator:
    """Return a generator for this check alone."""
    return suite.make_check_generator(request.node)


@pytest.fixture(scope="module")
def module_rng(suite: Suite, request: pytest.FixtureRequest) -> np.random.Generator:
    """Return a generator for the fixtures that the checks of one file share."""
    return suite.make_generator(request.path.stem)
