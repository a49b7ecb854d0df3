"""Test that the validators find everything a platform would reject: each case below makes one change in a good file."""

from __future__ import annotations

import copy
import io
import json
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from autograder import lms
from autograder.assignment import ASSIGNMENT
from autograder.core.zip_writer import Entry, zip_entries
from tests.test_lms import REPORTS, place_of
from tests.validators import gradescope, junit, prairielearn

Change = Callable[[Any], Any]
ROOT = Path("/nowhere")


def good(name: str) -> str:
    return lms.get(name).render_report(REPORTS["every status but error"], lms.get(name).paths(ROOT))


def put(*path: str | int, value: Any) -> Change:
    """Return a change that sets one field."""

    def change(data: Any) -> None:
        *way, last = path
        for step in way:
            data = data[step]
        data[last] = value

    return change


def drop(*path: str | int) -> Change:
    def change(data: Any) -> None:
        *way, last = path
        for step in way:
            data = data[step]
        del data[last]

    return change


def no_scores(data: Any) -> None:
    for test in data["tests"]:
        test.pop("score", None), test.pop("max_score", None), test.pop("status", None)
    del data["score"]


GRADESCOPE: dict[str, Change] = {
    "score as text": put("score", value="100"),
    "score as truth": put("score", value=True),
    "score below zero": put("score", value=-1),
    "no score anywhere": no_scores,
    "unknown field": put("max_score", value=100),
    "unknown field of a test": put("tests", 0, "title", value="x"),
    "tests as object": put("tests", value={}),
    "test as text": put("tests", 0, value="x"),
    "no name": drop("tests", 0, "name"),
    "name as number": put("tests", 0, "name", value=1),
    "number as number": put("tests", 0, "number", value=1),
    "more than the maximum": put("tests", 0, "score", value=3),
    "no maximum": drop("tests", 0, "max_score"),
    "passed without points": put("tests", 0, "score", value=1),
    "a third status": put("tests", 0, "status", value="partial"),
    "visibility of another platform": put("tests", 0, "visibility", value="secret"),
    "html": put("test_output_format", value="html"),
    "html of a test": put("tests", 0, "output_format", value="html"),
    "format not said": drop("output_format"),
    "what was printed is shown": put("stdout_visibility", value="visible"),
    "escape": put("output", value="\x1b[2J"),
    "direction": put("output", value="\u202e"),
    "endless": put("output", value="x" * 10_000),
    "not finite": put("score", value=float("nan")),
    "large": put("extra_data", value={"x": "y" * (1 << 20)}),
}
PRAIRIELEARN: dict[str, Change] = {
    "score of 100": put("score", value=100),
    "score as truth": put("score", value=True),
    "no score": drop("score"),
    "not finite": put("score", value=float("inf")),
    "not said to have succeeded": drop("succeeded"),
    "failed": put("succeeded", value=False),
    "gradable as text": put("gradable", value="yes"),
    "not gradable, not said why": put("gradable", value=False),
    "errors of format beside a score": put("format_errors", value=["x"]),
    "unknown field": put("feedback", value="x"),
    "no points": drop("tests", 0, "points"),
    "points beyond the maximum": put("tests", 0, "points", value=9),
    "no name": drop("tests", 0, "name"),
    "name that is no text": put("tests", 0, "name", value=None),
    "unknown field of a test": put("tests", 0, "status", value="passed"),
    "escape": put("message", value="\x1b]0;x\x07"),
    "large": put("tests", 0, "message", value="y" * (1 << 20)),
}
JUNIT: dict[str, tuple[str, str]] = {
    "not closed": ("</testsuites>", ""),
    "another root": ("testsuites", "suites"),
    "wrong count": ('tests="7"', 'tests="8"'),
    "failure uncounted": ("<failure ", "<skipped "),
    "no name": ('name="one.c0: title 0"', ""),
    "twice the same": ("one.c1: title 1", "one.c0: title 0"),
    "unknown attribute": ("<testcase ", '<testcase status="x" '),
    "unknown element": ("<failure ", "<broken "),
    "no class": ("classname", "class"),
    "a control character": ("Seen.", "\x1b"),
    "a direction": ("Seen.", "\u202e"),
}


@pytest.mark.parametrize("name", lms.PLATFORMS)
def test_the_good_file_has_no_problem(name: str, tmp_path: Path) -> None:
    for report in REPORTS.values():
        module = {"gradescope": gradescope, "prairielearn": prairielearn, "junit": junit}[name]
        assert module.problems(lms.get(name).render_report(report, place_of(name, tmp_path))) == []


@pytest.mark.parametrize("bad", GRADESCOPE)
def test_gradescope(bad: str) -> None:
    data = json.loads(good("gradescope"))
    GRADESCOPE[bad](data)
    assert gradescope.problems(json.dumps(data))


@pytest.mark.parametrize("bad", PRAIRIELEARN)
def test_prairielearn(bad: str) -> None:
    data = json.loads(good("prairielearn"))
    PRAIRIELEARN[bad](data)
    assert prairielearn.problems(json.dumps(data))


@pytest.mark.parametrize("bad", JUNIT)
def test_junit(bad: str) -> None:
    text, (old, new) = good("junit"), JUNIT[bad]
    assert old in text
    assert junit.problems(text.replace(old, new, 1 if bad != "another root" else -1))


@pytest.mark.parametrize("module", [gradescope, prairielearn, junit])
@pytest.mark.parametrize("text", ["", "{", "[]", "null", '{"score": 1, "score": 2}', '"\ud800"'])
def test_what_is_no_document(module: Any, text: str) -> None:
    assert module.problems(text)


def test_the_question_of_prairielearn() -> None:
    entries = lms.get("prairielearn").package(ASSIGNMENT, b"s", "an/image")  # type: ignore[attr-defined]
    info = json.loads(next(entry.data for name, entry in entries.items() if name.endswith("info.json")))
    assert prairielearn.info_problems(json.dumps(info)) == []
    for change in (
        put("externalGradingOptions", "timeout", value=601),
        put("externalGradingOptions", "enableNetworking", value=True),
        drop("externalGradingOptions", "image"),
        drop("title"),
        put("gradingMethod", value="Internal"),
        put("points", value=1),
    ):
        changed = copy.deepcopy(info)
        change(changed)
        assert prairielearn.info_problems(json.dumps(changed))


def test_the_zip_file_of_gradescope() -> None:
    entries = lms.get("gradescope").package(ASSIGNMENT, b"secret\n", "")  # type: ignore[attr-defined]
    assert gradescope.package_problems(zip_entries(entries)) == []
    script = entries["setup.sh"]
    for changed in (
        {name: entry for name, entry in entries.items() if name != "setup.sh"},
        {f"folder/{name}": entry for name, entry in entries.items()},
        entries | {"setup.sh": Entry(script.data, 0o644)},
        entries | {"setup.sh": Entry(script.data.replace(b"\n", b"\r\n"), 0o755)},
        entries | {"run_autograder": Entry(b"python", 0o755)},
        entries | {"../x": Entry(b"")},
        entries | {"LICENSE": Entry(b"a\r\nb")},
    ):
        assert gradescope.package_problems(zip_entries(changed))
    empty = io.BytesIO()
    zipfile.ZipFile(empty, "w").close()
    assert gradescope.package_problems(empty.getvalue())
