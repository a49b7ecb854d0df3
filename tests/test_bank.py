"""Test that every submission of the bank loses exactly the checks in its header, with the same status."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from autograder.assignment import ASSIGNMENT, mistakes
from autograder.grading import rubric
from autograder.grading.report import Report
from tests import bank_file, diagnosis, matrix, reading
from tests.reports import harmful

ROWS = rubric.load(ASSIGNMENT)
CLASSES = {"attention", "mlp", "block", "model"}


@pytest.mark.parametrize("path", bank_file.paths(), ids=lambda path: f"{path.parent.name}/{path.stem}")
def test_bank_file_gets_the_verdicts_at_its_top(path: Path, grade: Callable[..., Report], tmp_path: Path) -> None:
    entry = bank_file.load(path)
    report = grade(entry.write(tmp_path))
    lost = {check.id: check.status for check in report.checks if check.status != "passed"}
    told = "\n".join(f"{check.id}: {check.status}: {check.message}" for check in report.checks if check.id in lost)
    assert lost == entry.loses | {id: status for id, status in entry.bonus.items() if status != "passed"}, told
    named = {found.mistake for check in report.checks if check.criterion in CLASSES for found in check.diagnosis}
    assert named == set(entry.names), told
    elsewhere = {found.mistake for check in report.checks for found in check.diagnosis} - named
    # Exceptions have many causes: the reference's qk_ov expects the reference's names, for example.
    follows = {name for name in elsewhere if mistakes.named(name).component == "python"}
    if path.parent.name != "broken":  # with many faults at once, many mistakes are named
        assert elsewhere - follows == set(entry.also) - follows, told
    assert not list(reading.hard_to_read(report))
    assert report.gradable
    assert not [check.message for check in report.checks if "unusable" in check.evidence]
    assert not list(harmful(report))
    assert [check.id for check in report.checks] == [check.id for check in ROWS.checks]


def test_the_bank_is_not_empty() -> None:
    assert len(bank_file.paths("variants")) >= 60
    assert len(bank_file.paths("mistakes")) >= 100
    assert len(bank_file.paths("broken")) >= 10


def test_variants_lose_nothing_by_their_own_account() -> None:
    for path in bank_file.paths("variants"):
        entry = bank_file.load(path)
        assert not entry.loses, path
        assert not entry.names, path
        assert not entry.also, path


def test_mistakes_are_named_or_the_file_says_why_not() -> None:
    entries = [bank_file.load(path) for path in bank_file.paths("mistakes")]
    for entry in entries:
        assert bool(entry.names or entry.also) != bool(entry.unnamed), entry.path
    assert diagnosis.share(entries) >= 0.95


def test_a_class_loses_points_for_its_own_mistakes_alone() -> None:
    for path in bank_file.paths("mistakes"):
        assert not matrix.taken_elsewhere(bank_file.load(path), ROWS)
