"""Test properties that every report must have: valid here and on each platform, small, and harmless to its readers."""

from __future__ import annotations

import importlib
import io
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jsonschema
from rich.console import Console

from autograder import lms
from autograder.grading.report import Report
from autograder.render import terminal
from tests.conftest import ROOT

SCHEMA = json.loads((ROOT / "autograder" / "grading" / "report.schema.json").read_text("utf-8"))
MOST, MOST_SHOWN = 1 << 20, 1 << 16  # bytes, characters


def lost(report: Report) -> dict[str, str]:
    """Return the checks that did not pass, with their status."""
    return {check.id: check.status for check in report.checks if check.status != "passed"}


def harmful(report: Report) -> Iterator[str]:
    """Return the faults in a report as a document and as a page."""
    document = report.to_json()
    if len(document.encode()) >= MOST:
        yield f"the report has {len(document):,} characters"
    content = json.loads(document)
    jsonschema.validate(content, SCHEMA, cls=jsonschema.Draft202012Validator)
    for text in _texts(content):
        if bad := _unprintable(text):
            yield f"{bad} in {text[:80]!a}"
    page = io.StringIO()
    terminal.show(report, Console(file=page, width=80))
    if bad := _unprintable(page.getvalue()):
        yield f"{bad} is printed"
    if len(page.getvalue()) > MOST_SHOWN:
        yield f"{len(page.getvalue()):,} characters are printed"
    if report.gradable and all(check.status != "skipped" for check in report.checks):  # otherwise it is never exported
        for name in lms.PLATFORMS:
            platform, validator = lms.get(name), importlib.import_module(f"tests.validators.{name}")
            found = validator.problems(platform.render_report(report, platform.paths(Path("/nowhere"))))
            yield from (f"{name}: {problem}" for problem in found)


def _unprintable(text: str) -> str:
    return ascii("".join(sorted({c for c in text if not c.isprintable() and c not in "\n\t"})))[1:-1]


def _texts(value: Any) -> Iterator[str]:
    """Yield all texts in a JSON document, including keys."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for key, inner in value.items():
            yield key
            yield from _texts(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from _texts(inner)
