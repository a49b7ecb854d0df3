"""Let a conftest.py run an assignment's checks under plain pytest: ``pytest CHECKS --submission PATH``."""

from __future__ import annotations

from pathlib import Path

import pytest

from autograder.core.assignment import Assignment
from autograder.grading import fixtures, rubric
from autograder.grading.suite import Suite
from autograder.sandbox.remote.client import Zygote
from autograder.submission.archive import BadSubmission
from autograder.submission.read import read_submission


def add_option(parser: pytest.Parser) -> None:
    """Add the option --submission."""
    parser.addoption("--submission", type=Path, help="the submitted file or folder")


def configure(config: pytest.Config, assignment: Assignment) -> None:
    """Start the sandbox and register the suite, unless ``grade`` has done so."""
    if config.pluginmanager.has_plugin(fixtures.SUITE) or config.option.help:
        return
    path = config.getoption("--submission")
    if path is None:
        raise pytest.UsageError(f"the checks need a submission: pytest {assignment.checks} --submission PATH")
    try:
        submission = read_submission(path, assignment)
    except BadSubmission as error:
        raise pytest.UsageError(str(error)) from None
    zygote = Zygote()
    suite = Suite(assignment, submission, zygote, rubric.load(assignment))
    config.pluginmanager.register(suite)
    config.pluginmanager.register(fixtures)
    config.add_cleanup(zygote.close)
    config.add_cleanup(suite.close)
