"""Fixtures of the checks, and support for plain pytest."""

from __future__ import annotations

import pytest

from autograder.grading import standalone
from autograder.grading.suite import Suite
from autograder.sandbox.remote.oracle_process import OracleProcess
from tests.head_assignment import ASSIGNMENT


def pytest_addoption(parser: pytest.Parser) -> None:
    standalone.add_option(parser)


def pytest_configure(config: pytest.Config) -> None:
    standalone.configure(config, ASSIGNMENT)


@pytest.fixture(scope="session")
def oracle(suite: Suite) -> OracleProcess:
    """Return the oracle: ``ask`` calls a method of its ``Operations``."""
    return suite.oracle
