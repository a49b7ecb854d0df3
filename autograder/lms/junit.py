"""Write JUnit XML, which CodeGrade, Artemis, GitLab and most CI systems read, to one file."""

from __future__ import annotations

from pathlib import Path
from xml.etree import ElementTree as ET

from autograder.grading.report import Report, Verdict
from autograder.lms import Paths, view

ROOT = Path()  # the current folder
FAILED = 3


def paths(root: Path) -> Paths:
    return Paths(root, root / "junit.xml", None, root)


def render_report(report: Report, place: Paths) -> str:
    suites, texts = ET.Element("testsuites"), view.visible_messages(report)
    for criterion in report.criteria:
        checks = report.of(criterion.id)
        suite = _add_suite(suites, criterion.id, [report.timing.checks.get(check.id, 0.0) for check in checks])
        for check in checks:
            _add_case(suite, report, check, texts[check.id])
        _count(suite)
    first = next(iter(suites))
    properties = {
        "score": f"{report.score:g}",
        "max_score": f"{report.max_score:g}",
        "bonus": f"{report.bonus:g}",
        "gradable": str(report.gradable).lower(),
    }
    first.insert(0, _make_properties(properties))
    return _format_document(suites)


def render_refusal(line: str, place: Paths) -> str:
    return _format_single(place, "failure", "refused", line)


def render_failure(reason: str, report: Report | None, place: Paths) -> str:
    """Return a JUnit error, distinct from a failure, for the affected check if there is a report."""
    return (
        render_report(report, place)
        if report
        else _format_single(place, "error", "error", f"The grader itself failed: {reason}")
    )


def _add_case(suite: ET.Element, report: Report, check: Verdict, text: str) -> None:
    """Add a check. List a hidden check without its result, since every reader sees the whole file."""
    case = ET.SubElement(suite, "testcase")
    case.attrib |= {
        "classname": f"{report.assignment}.{check.criterion}",
        "name": view.sanitise(f"{check.id}: {check.title}"),
        "time": f"{report.timing.checks.get(check.id, 0.0):.3f}",
    }
    if check.status == "skipped" or view.is_optional(report, check):
        ET.SubElement(case, "skipped")
        return
    if check.visibility != "visible" and check.status != "error":
        ET.SubElement(case, "skipped", message=view.withheld_message(check))
        return
    case.append(_make_properties({"score": f"{check.score:g}", "max_score": f"{check.max_score:g}"}))
    if check.status != "passed":
        kind = "error" if check.status == "error" else "failure"
        ET.SubElement(case, kind, message=text, type=check.status)


def _format_single(place: Paths, kind: str, type: str, line: str) -> str:
    """Return a document with a single error or failure."""
    suites = ET.Element("testsuites")
    suite = _add_suite(suites, "submission", [])
    case = ET.SubElement(suite, "testcase", classname=place.assignment, name="submission", time="0.000")
    ET.SubElement(case, kind, message=view.sanitise(line), type=type)
    _count(suite)
    return _format_document(suites)


def _add_suite(suites: ET.Element, name: str, seconds: list[float]) -> ET.Element:
    return ET.SubElement(suites, "testsuite", name=name, time=f"{sum(seconds):.3f}")


def _count(suite: ET.Element) -> None:
    suite.set("tests", str(len(suite.findall("testcase"))))
    for attribute, kind in (("failures", "failure"), ("errors", "error"), ("skipped", "skipped")):
        suite.set(attribute, str(len(suite.findall(f"testcase/{kind}"))))


def _make_properties(values: dict[str, str]) -> ET.Element:
    properties = ET.Element("properties")
    for name, value in values.items():
        ET.SubElement(properties, "property", name=name, value=value)
    return properties


def _format_document(suites: ET.Element) -> str:
    ET.indent(suites, " ")
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{ET.tostring(suites, encoding="unicode")}\n'
