"""Test the course page in a real browser: it sorts, filters, opens reports, and makes no network requests."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.browser import CHROMIUM, Browser
from tests.course_kit import Course

needs_browser = pytest.mark.skipif(CHROMIUM is None, reason="no Chromium on this machine")
HOSTILE = "<script>document.title='owned'</script> $(touch x) 'q'"


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with Browser() as browser:
        yield browser


@pytest.fixture
def page(course: Course) -> Path:
    """Return a course of five students: two with the same mistake, one hostile, one ungraded, one with full marks."""
    lose = "lose causality.full_model lose causality.full_context lose model.loss name mask_excludes_self"
    course.hand_in(
        ada=lose + "\n# ada", bob=lose + "\n# bob", eve="# eve", zoe="# half mlp.position_wise\n# lose shapes.course"
    )
    (course.source / "mute").mkdir()
    (course.source / "mute" / "notes.txt").write_text("x")
    roster = course.source.parent / "roster.csv"
    roster.write_text(f'Name,Username\n"{HOSTILE}",eve\n')
    course.regrade(roster=roster, note="<i>first</i>")
    return course.out / "index.html"


def column(browser: Browser) -> list[str]:
    """Return the names in the visible rows, in order."""
    script = (
        "[...document.querySelectorAll('#students tbody tr')].filter(r => !r.hidden).map(r => r.cells[0].textContent)"
    )
    return list(browser.run(script))


def fill(browser: Browser, name: str, value: str) -> None:
    browser.run(
        f"(() => {{ const i = document.querySelector('[data-filter={name}]'); i.value = {value!r};"
        " i.dispatchEvent(new Event('input')); })()"
    )


@needs_browser
def test_the_table_sorts_filters_and_opens_a_report(browser: Browser, page: Path) -> None:
    browser.errors.clear()
    browser.requests.clear()
    browser.open(page)
    assert column(browser) == [HOSTILE, "ada", "bob", "mute", "zoe"]
    browser.run("document.querySelector('[data-sort=score]').click()")
    assert column(browser)[0] in ("ada", "bob")
    assert column(browser)[-1] == "mute"  # students without a score come last in either order
    browser.run("document.querySelector('[data-sort=score]').click()")
    assert column(browser)[-1] == "mute"
    assert browser.run("document.querySelector('th[aria-sort]').textContent").strip() == "score"
    fill(browser, "lost", "causality.full_context")
    assert sorted(column(browser)) == ["ada", "bob"]
    assert browser.run("document.querySelector('#count').textContent") == "2 of 5 rows"
    fill(browser, "lost", "")
    fill(browser, "text", "ZO")
    assert column(browser) == ["zoe"]
    fill(browser, "text", "")
    browser.run("document.querySelector('[data-pick^=mistakes]').click()")
    assert sorted(column(browser)) == ["ada", "bob"]
    browser.run("document.querySelector('#students tbody tr:not([hidden]) a').click()")
    browser.wait()
    assert browser.run("document.querySelector('h1').textContent") in ("ada", "bob")
    assert browser.errors == []
    assert {request.split(":")[0] for request in browser.requests} == {"file"}
    assert len(browser.requests) == 2


@needs_browser
@pytest.mark.parametrize("width", [1200, 390])
def test_nothing_is_wider_than_the_screen(browser: Browser, page: Path, width: int) -> None:
    browser.resize(width, 800)
    for path in (page, *(page.parent / "reports").glob("*.html")):
        browser.open(path)
        assert browser.run("document.documentElement.scrollWidth") <= width
    assert browser.run("document.title") != "owned"


def test_the_page_says_who_has_no_grade_who_shares_a_mistake_and_how_to_override(page: Path, course: Course) -> None:
    text = page.read_text("utf-8")
    assert "no gpt.py, no Python file at all" in text
    assert "2 students with " in text
    assert "ada, bob" in text
    assert "<i>first" not in text
    assert "<script>document" not in text
    # The command shown works, whatever the name.
    from html import unescape

    from typer.testing import CliRunner

    from autograder.cli import app

    commands = [unescape(part.split("</code>")[0]) for part in text.split("<summary")[1:]]
    (line,) = (c.partition("<code>")[2] for c in commands if "touch" in c)
    words = shlex.split(line.replace("POINTS", "40").replace("WHY", "it's fine"))
    assert words[:4] == ["python", "-m", "autograder", "override"]
    assert words[4] == HOSTILE
    done = CliRunner().invoke(app, words[3:])
    assert done.exit_code == 0, done.output
    assert course.scores()[HOSTILE] == 40.0


def test_reports_are_written_again_only_where_something_changed(page: Path, course: Course) -> None:
    before = {path: path.stat().st_mtime_ns for path in (page.parent / "reports").iterdir()}
    assert len(before) == 2 * 4
    course.hand_in(zoe="# new")
    course.regrade()
    after = {path: path.stat().st_mtime_ns for path in (page.parent / "reports").iterdir()}
    assert sum(before[path] != after[path] for path in before) == 2
