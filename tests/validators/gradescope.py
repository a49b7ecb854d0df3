"""Validate Gradescope's results.json, submission_metadata.json and an autograder's zip file."""

from __future__ import annotations

import io
import stat
import zipfile
from typing import Any

from tests.validators import fields
from tests.validators.fields import Rule, number, one_of, text

VISIBILITY = one_of("visible", "hidden", "after_due_date", "after_published")
FORMAT = one_of("text", "html", "simple_format", "md", "ansi")
TEST: dict[str, Rule] = {
    "score": number,
    "max_score": number,
    "status": one_of("passed", "failed"),
    "name": text,
    "name_format": FORMAT,
    "number": text,
    "output": text,
    "output_format": FORMAT,
    "tags": lambda value: isinstance(value, list) and all(map(text, value)),
    "visibility": VISIBILITY,
    "extra_data": lambda value: isinstance(value, dict),
}
TOP: dict[str, Rule] = {
    "score": number,
    "tests": lambda value: isinstance(value, list),
    "execution_time": number,
    "output": text,
    "output_format": FORMAT,
    "test_output_format": FORMAT,
    "test_name_format": FORMAT,
    "visibility": VISIBILITY,
    "stdout_visibility": VISIBILITY,
    "extra_data": lambda value: isinstance(value, dict),
    "leaderboard": lambda value: isinstance(value, list),
}


def problems(source: str) -> list[str]:
    value, found = fields.document(source)
    if found:
        return found
    found = fields.check(value, TOP, "top")
    if found:
        return found
    tests = value.get("tests", [])
    found = [line for n, test in enumerate(tests) for line in fields.check(test, TEST, f"tests[{n}]")]
    if found:
        return found
    if "score" not in value and not any("score" in test for test in tests):
        found.append("no score, neither at the top nor in a test")
    found += [f"tests[{n}]: no name" for n, test in enumerate(tests) if not test.get("name")]
    found += [f"tests[{n}]: {why}" for n, test in enumerate(tests) for why in _points(test)]
    # HTML from a submission must have no effect, so everything is shown as plain text.
    wanted = {"output_format": value, "test_output_format": value, "test_name_format": value}
    found += [f"{key}: not text" for key, where in wanted.items() if where.get(key) != "text"]
    found += [
        f"tests[{n}]: a format of its own" for n, t in enumerate(tests) if {"name_format", "output_format"} & set(t)
    ]
    if value.get("stdout_visibility", "hidden") != "hidden":
        found.append("students could read what the grader printed")
    if value.get("score", 0) < 0:
        found.append("a score below zero")
    return found


def _points(test: dict[str, Any]) -> list[str]:
    if ("score" in test) != ("max_score" in test):
        return ["a score without its maximum, or the other way round"]
    if "score" not in test:
        return []
    score, most = test["score"], test["max_score"]
    found = [] if 0 <= score <= most else [f"{score} of {most} points"]
    if test.get("status", "passed") == "passed" and score != most:
        found.append("passed without full points")
    return found


def package_problems(data: bytes) -> list[str]:
    """Return the faults of a zip file to upload."""
    found = []
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        modes = {info.filename: info.external_attr >> 16 for info in archive.infolist()}
        for name in ("setup.sh", "run_autograder"):
            if name not in modes:
                found.append(f"{name}: not at the root")
                continue
            script = archive.read(name)
            if not script.startswith(b"#!") or b"\r" in script:
                found.append(f"{name}: no script that Linux runs")
            if not modes[name] & stat.S_IXUSR:
                found.append(f"{name}: cannot be executed")
        names = [name for name in modes if name.startswith(("/", ".")) or ".." in name or "\\" in name]
        found += [f"{name}: leads elsewhere" for name in names]
        found += [f"{name}: carriage returns" for name in modes if b"\r\n" in archive.read(name)]
    return found
