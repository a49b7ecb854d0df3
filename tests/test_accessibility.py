"""Check every page that people read with axe: in a real browser, with all its parts unfolded, light and dark."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from importlib import resources
from pathlib import Path
from typing import Any

import pytest

from autograder.grading.report import Report
from autograder.render import html
from tests import bank_file
from tests.bank_file import BANK
from tests.browser import CHROMIUM, Browser
from tests.course_kit import Course

ROOT = Path(__file__).resolve().parent.parent
VIOLATIONS = """axe.run().then((found) => [found.passes.length, found.violations.map(
    (one) => `${one.id}: ${one.help}: ${one.nodes[0].html}`)])"""

pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="no Chromium on this machine")


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with Browser(1100, 900) as browser:
        yield browser


def check(browser: Browser, page: Path) -> None:
    for scheme in ("light", "dark"):
        browser.prefer(scheme)
        browser.open(page)
        browser.run("document.querySelectorAll('details').forEach((one) => (one.open = true))")
        browser.run(resources.files("axe_core_python").joinpath("axe.min.js").read_text("utf-8"))
        passes, violations = browser.run(VIOLATIONS)
        assert passes > 10
        assert not violations, scheme


def test_the_handout(browser: Browser) -> None:
    check(browser, ROOT / "student" / "README.html")


def test_a_report(browser: Browser, grade: Callable[..., Report], tmp_path: Path) -> None:
    report = grade(bank_file.load(BANK / "broken" / "wrong_everywhere.py").write(tmp_path))
    page = tmp_path / "report.html"
    page.write_text(html.render(report), "utf-8")
    check(browser, page)


def test_the_course_pages(browser: Browser, course: Course) -> None:
    course.hand_in(ada="lose causality.full_model name mask_excludes_self", bob="# bob")
    course.regrade()
    check(browser, course.out / "index.html")
    check(browser, next((course.out / "students").glob("*.html"), course.out / "index.html"))


def test_the_handout_can_be_used_with_the_keyboard_alone(browser: Browser) -> None:
    """Tab reaches each box and its buttons in order; Ctrl+Enter runs a box."""
    browser.open(ROOT / "student" / "README.html")
    browser.run("document.querySelectorAll('details').forEach((one) => (one.open = true))")
    browser.run("document.querySelector('.live textarea').focus()")
    seen: list[Any] = []
    for _ in range(3):
        browser.press("Tab")
        seen.append(browser.run("document.activeElement.textContent || document.activeElement.className"))
    assert seen[:2] == ["Run", "Reset"]
    browser.run("document.querySelector('.live textarea').value = 'print(6 * 7)'")
    browser.run("document.querySelector('.live textarea').focus()")
    browser.press("Enter", control=True)
    done = """new Promise((done) => { const wait = () => document.querySelector(".live").classList.contains("running")
        ? setTimeout(wait, 20) : done(document.querySelector(".live .output").textContent); wait(); })"""
    assert browser.run(done) == "42\n"
