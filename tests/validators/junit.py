"""Validate the JUnit XML that common readers agree on: cases with at most one outcome, and consistent counts."""

from __future__ import annotations

from xml.etree import ElementTree as ET

from tests.validators import fields

OUTCOMES = {"failure", "error", "skipped"}
CHILDREN = {
    "testsuites": {"testsuite"},
    "testsuite": {"properties", "testcase"},
    "testcase": {"properties", *OUTCOMES},
    "properties": {"property"},
}
REQUIRED = {
    "testsuite": {"name", "tests", "failures", "errors", "skipped", "time"},
    "testcase": {"classname", "name", "time"},
    "property": {"name", "value"},
    "failure": {"message", "type"},
    "error": {"message", "type"},
}
OPTIONAL = {"skipped": {"message"}}
COUNTS = {
    "tests": "testcase",
    "failures": "testcase/failure",
    "errors": "testcase/error",
    "skipped": "testcase/skipped",
}


def problems(source: str) -> list[str]:
    try:
        root = ET.fromstring(source.encode("utf-8"))
    except (ET.ParseError, UnicodeEncodeError) as error:
        return [f"no XML: {error}"]
    found = [] if root.tag == "testsuites" else [f"the root is {root.tag}"]
    for element in root.iter():
        found += [
            f"{element.tag}: {child.tag} in it" for child in element if child.tag not in CHILDREN.get(element.tag, ())
        ]
        required = REQUIRED.get(element.tag, set())
        found += [f"{element.tag}: no {name}" for name in required - set(element.attrib)]
        allowed = required | OPTIONAL.get(element.tag, set())
        found += [f"{element.tag}: {name}: no such attribute" for name in set(element.attrib) - allowed]
        found += [f"{element.tag}: {name}: {v!r:.80}" for name, v in element.attrib.items() if not fields.text(v)]
        if "time" in element.attrib and not float(element.attrib["time"]) >= 0:
            found.append(f"{element.tag}: time {element.attrib['time']}")
    for suite in root.iter("testsuite"):
        for name, path in COUNTS.items():
            if suite.get(name) != str(len(suite.findall(path))):
                found.append(f"{suite.get('name')}: {name} is {suite.get(name)}")
        for case in suite.iter("testcase"):
            if sum(child.tag in OUTCOMES for child in case) > 1:
                found.append(f"{case.get('name')}: more than one outcome")
    names = [(case.get("classname"), case.get("name")) for case in root.iter("testcase")]
    if not names or len(set(names)) != len(names):
        found.append("no case, or the same case twice")
    return found
