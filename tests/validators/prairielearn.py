"""Validate an external grader's results.json and an externally graded question's info.json for PrairieLearn."""

from __future__ import annotations

import uuid
from typing import Any

from tests.validators import fields
from tests.validators.fields import Rule, boolean, number, text


def _texts(value: Any) -> bool:
    return text(value) or (isinstance(value, list) and all(map(text, value)))


TEST: dict[str, Rule] = {
    "name": text,
    "description": text,
    "points": number,
    "max_points": number,
    "message": text,
    "output": text,
    "images": lambda value: isinstance(value, list),
}
TOP: dict[str, Rule] = {
    "score": lambda value: number(value) and 0 <= value <= 1,
    "gradable": boolean,
    "format_errors": _texts,
    "succeeded": boolean,
    "message": text,
    "output": text,
    "images": lambda value: isinstance(value, list),
    "tests": lambda value: isinstance(value, list),
}
OPTIONS: dict[str, Rule] = {
    "enabled": lambda value: value is True,
    "image": lambda value: text(value) and bool(value),
    "entrypoint": lambda value: _texts(value) and bool(value),
    "serverFilesCourse": lambda value: isinstance(value, list),
    "timeout": lambda value: number(value) and 0 < value <= 600,
    "enableNetworking": lambda value: value is False,
    "environment": lambda value: isinstance(value, dict),
}
INFO: dict[str, Rule] = {
    "uuid": lambda value: text(value) and str(uuid.UUID(value)) == value,
    "title": text,
    "topic": text,
    "tags": lambda value: isinstance(value, list) and all(map(text, value)),
    "type": lambda value: value == "v3",
    "singleVariant": boolean,
    "gradingMethod": lambda value: value == "External",
    "externalGradingOptions": lambda value: not fields.check(value, OPTIONS, "") and "image" in value,
}


def problems(source: str) -> list[str]:
    value, found = fields.document(source)
    found = found or fields.check(value, TOP, "top")
    tests = [] if found else value.get("tests", [])
    found += [line for n, test in enumerate(tests) for line in fields.check(test, TEST, f"tests[{n}]")]
    if found:
        return found
    if value.get("gradable", True):
        found += [f"no {key}" for key in ("score",) if key not in value]
        if value.get("succeeded") is not True:
            found.append("not said to have succeeded, so the score is taken for 0")
        if "format_errors" in value:
            found.append("errors of format in what is gradable")
    elif not value.get("format_errors"):
        found.append("not gradable, and no word why")
    for n, test in enumerate(tests):
        if not test.get("name"):
            found.append(f"tests[{n}]: no name")
        if "points" not in test or "max_points" not in test:
            found.append(f"tests[{n}]: without points, which hides them everywhere")
        elif not 0 <= test["points"] <= test["max_points"]:
            found.append(f"tests[{n}]: {test['points']} of {test['max_points']} points")
    return found


def info_problems(source: str) -> list[str]:
    """Return the faults of a question's info.json."""
    value, found = fields.document(source)
    return found or fields.check(value, INFO, "info") + [f"info: no {key}" for key in INFO if key not in value]
