"""Helpers that the validators share: fields with their types, and harmless text."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from typing import Any

Rule = Callable[[Any], bool]
MAX_TEXT = 2000
MAX_DOCUMENT = 1 << 20  # bytes; PrairieLearn's limit, and far more than any file needs


def number(value: Any) -> bool:
    """Return whether a value is a finite JSON number, and not a bool."""
    return isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value)


def text(value: Any) -> bool:
    """Return whether a value is text for a page: not too long, no control characters or lone surrogates."""
    return (
        isinstance(value, str)
        and len(value) <= 4 * MAX_TEXT
        and all(c == "\n" or (c.isprintable() and not 0x2028 <= ord(c) <= 0x202E) for c in value)
    )


def boolean(value: Any) -> bool:
    return isinstance(value, bool)


def one_of(*values: str) -> Rule:
    return lambda value: isinstance(value, str) and value in values


def document(source: str) -> tuple[Any, list[str]]:
    """Return the JSON value in ``source``, without Python's extensions of JSON."""
    found = [] if len(source.encode("utf-8", "replace")) <= MAX_DOCUMENT else ["larger than 1 MiB"]

    def refuse(constant: str) -> None:
        found.append(f"{constant} is no JSON")

    def unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        if len(dict(pairs)) != len(pairs):
            found.append("a key is there twice")
        return dict(pairs)

    try:
        source.encode("utf-8")
        return json.loads(source, parse_constant=refuse, object_pairs_hook=unique), found
    except ValueError as error:
        return None, [*found, f"no JSON: {error}"]


def check(value: Any, rules: dict[str, Rule], where: str) -> list[str]:
    """Return the faults of the object ``value``: unknown fields, or fields of the wrong type."""
    if not isinstance(value, dict):
        return [f"{where}: not an object"]
    unknown = [f"{where}: {key}: no such field" for key in value if key not in rules]
    return unknown + [
        f"{where}: {key}: {item!r:.80}" for key, item in value.items() if key in rules and not rules[key](item)
    ]
