"""Test the handout's page in a real browser: its Python runs offline from a file, and its HTML is accessible."""

from __future__ import annotations

import contextlib
import io
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.browser import CHROMIUM, Browser

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "student" / "README.html"
RUN = """new Promise((done) => {
    const box = document.querySelectorAll(".live")[%d];
    const buttons = box.querySelectorAll(".bar button");
    %s
    buttons[0].click();
    %s
    const wait = () => box.classList.contains("running")
        ? setTimeout(wait, 20) : done(box.querySelector(".output").textContent);
    wait();
})"""

pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="no Chromium on this machine")


@pytest.fixture(scope="module")
def chromium() -> Iterator[Browser]:
    with Browser(1100, 900) as browser:
        yield browser


@pytest.fixture
def browser(chromium: Browser) -> Browser:
    chromium.open(PAGE)
    return chromium


def run_box(browser: Browser, number: int, code: str | None = None, meanwhile: str = "") -> str:
    """Return what a box shows after Run, with its own code or another."""
    edit = "" if code is None else f"box.querySelector('textarea').value = {code!r};"
    return str(browser.run(RUN % (number, edit, meanwhile)))


def test_each_example_prints_what_cpython_prints(browser: Browser) -> None:
    codes = browser.run("[...document.querySelectorAll('.live textarea')].map((editor) => editor.value)")
    assert len(codes) >= 6
    for number, code in enumerate(codes):
        expected = io.StringIO()
        with contextlib.redirect_stdout(expected):
            exec(code, {})
        shown = browser.run(f"document.querySelectorAll('.live .output')[{number}].textContent")
        assert shown == expected.getvalue()  # before it is run, and without JavaScript
        assert run_box(browser, number) == expected.getvalue()
    assert not browser.errors
    assert {url.partition(":")[0] for url in browser.requests} == {"file", "blob"}  # no network


@pytest.mark.parametrize(
    ("code", "shown"),
    [
        ("x = 1\nprint(y)", "line 2.*NameError"),
        ("class A:\n    def __init__(self):\n        self.x = 1\nprint(A().z)", "line 4.*AttributeError"),
        ("print(1)\nprint(", "SyntaxError"),
        ("x = 1", "no output"),
        ("for i in range(10**5):\n    print(i)", "Only the first 20000 characters"),
    ],
)
def test_errors_and_odd_output_appear_under_the_box(browser: Browser, code: str, shown: str) -> None:
    assert re.search(shown, run_box(browser, 0, code), re.DOTALL)


def test_a_run_starts_afresh_and_reset_brings_the_example_back(browser: Browser) -> None:
    example = run_box(browser, 0)
    run_box(browser, 0, "kept = 1")
    assert "NameError" in run_box(browser, 0, "print(kept)")
    browser.run("document.querySelectorAll('.live .bar button')[2].click()")
    assert "class NamedCounter" in browser.run("document.querySelector('.live textarea').value")
    assert browser.run("document.querySelector('.live .output').textContent") == example


def test_an_endless_loop_is_stopped_by_the_button_and_by_time(browser: Browser) -> None:
    stop = "setTimeout(() => buttons[1].click(), 300);"
    assert run_box(browser, 0, "while True:\n    pass", stop) == "Stopped."
    assert "endless loop" in run_box(browser, 0, "while True:\n    pass")
    assert run_box(browser, 0, "print(2)") == "2\n"


@pytest.mark.parametrize("width", [1100, 390])
def test_the_page_is_not_wider_than_the_screen(browser: Browser, width: int) -> None:
    browser.resize(width, 900)
    browser.run("document.querySelectorAll('details').forEach((one) => (one.open = true))")
    assert browser.run("document.documentElement.scrollWidth") == width
