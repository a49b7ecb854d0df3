"""Test that a report's page shows the whole report, shows student text as text, and loads nothing."""

from __future__ import annotations

import math
import re
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

from autograder.course.runs.run import ReportKey
from autograder.grading.report import NOT_FINITE, Report
from autograder.render import html, markdown, pictures
from tests import course_kit
from tests.test_cli import command

KEY = ReportKey("1+a", "r", "s")
TEXT = "lose attention.formula half mlp.position_wise lose bonus.qk_ov"
EVIDENCE: dict[str, Any] = {
    "causality.full_model": {"influence": [[1.0, 0.5], [0.2, 0.9]]},
    "attention.rows_sum_to_one": {"attention": [[1.0, 0.0], [0.4, 0.6]]},
    "model.training": {"training": [4.3, 2.0, 1.1]},
    "parameters.total": {"parts": {"embeddings": 16512, "block_norms": 2048}, "counted": 18560, "expected": 18560},
    "initial_loss.window": {"losses": {"random targets": 4.3353}},
    "shapes.course": {"table": [["embeddings <b>", [2, 43, 128]]]},
    "generation.output_shape": {"sample": "<script>alert(1)</script>\n\x07\u202e"},
}


def report(text: str = TEXT, **evidence: Any) -> Report:
    return course_kit.report("0" * 64, text, KEY, **(EVIDENCE | evidence))


class Seen(HTMLParser):
    """Collect the tags, attributes and text of a page; fail on unclosed tags."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.text, self._open = "", list[str]()
        self.feed(page)
        self.close()
        assert not self._open

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag not in ("meta", "link", "input", "br"):
            self._open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self._open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self._open and self._open[-1] not in ("style", "script"):
            self.text += data


def test_every_check_stands_there_with_points_and_reason() -> None:
    seen = Seen(html.render(report(), name="Zoë & <Co>"))
    words = " ".join(seen.text.split())
    said = {"passed": "passed", "failed": "incorrect", "partial": "partly correct"}
    for check in report().checks:
        assert f"{check.title} {said[check.status]}" in words
    assert "Zoë & <Co>" in words
    assert "attention.formula is failed, see <b>line 3</b>" in words
    assert "93 of 100 points + 4 bonus" in words


def test_student_text_is_never_markup_and_nothing_is_loaded() -> None:
    page = html.render(report(), name="<img src=http://x>")
    seen = Seen(page)
    assert not {tag for tag, _ in seen.tags} & {"script", "img", "i", "b", "link", "iframe", "object", "a"}
    assert not re.findall(r"<[^>]*(?:src|href)\s*=|url\(|@import", page)
    assert "default-src 'none'" in page
    assert "\x07" not in page
    assert "\u202e" not in page
    assert "<script>alert(1)</script>" in seen.text


def test_a_screen_reader_hears_what_a_picture_shows_and_the_status_in_words() -> None:
    seen = Seen(html.render(report()))
    said = [attributes["aria-label"] or "" for tag, attributes in seen.tags if tag == "svg"]
    assert any("1 cells above the diagonal are not zero, the largest 0.5" in label for label in said)
    assert any("from 4.3 at step 0 to 1.1 at step 2" in label for label in said)
    assert all(attributes.get("role") == "img" for tag, attributes in seen.tags if tag == "svg")
    assert ("html", {"lang": "en"}) in seen.tags
    headers = [attributes for tag, attributes in seen.tags if tag == "th"]
    assert headers
    assert all("scope" in attributes for attributes in headers)
    names = [attributes["id"] for _, attributes in seen.tags if "id" in attributes]
    assert len(set(names)) == len(names)


def test_a_reason_is_given_once_and_points_set_by_hand_say_why() -> None:
    twice = report("lose attention.formula").model_copy(
        update={
            "checks": tuple(
                check.model_copy(update={"status": "failed", "message": "the same"})
                if check.criterion == "mlp"
                else check
                for check in report().checks
            )
        }
    )
    for page, reference in (
        (html.render(twice, overrides={"block.residual_path": "seen on paper"}), "See cause 2."),
        (markdown.render(twice, overrides={"block.residual_path": "seen on paper"}), "Same cause as"),
    ):
        assert page.count("the same") == 1
        assert reference in page
        assert "seen on paper" in page


def test_a_report_that_is_no_grade_says_so() -> None:
    for page in (html.render(report("error mlp.width")), markdown.render(report("error mlp.width"))):
        assert "not graded" in page
        assert "of 100 points" not in page.split("<title>")[0] + page.split("</title>")[-1]


def test_one_infinite_value_does_not_blank_the_others() -> None:
    assert pictures.draw_heatmap([[float("inf"), 0.0], [0.5, 1.0]], "x").count("<path") > 1


@pytest.mark.parametrize(
    "matrix", [[[float("inf"), 0.0], [1.0, 1.0]], [[0.0]], [[0.0, 0.0], [0.0, 0.0]], [[None, 1.0], [None, None]]]
)
def test_pictures_bear_any_figures(matrix: list[list[float | None]]) -> None:
    assert "nan" not in pictures.draw_heatmap(matrix, "x", leaks=True)
    assert "nan" not in pictures.draw_curve([value for row in matrix for value in row], "x", "y", "z")


def test_evidence_that_is_not_finite_is_spelled_in_the_report_and_drawn_on_the_page() -> None:
    evidence = {
        "causality.full_model": {"influence": [[1.0, math.inf], [math.nan, 0.9]]},
        "attention.rows_sum_to_one": {"attention": ((-math.inf, 0.0), (0.4, 0.6))},
        "model.training": {"training": [math.nan, 2.0, math.inf]},
        "initial_loss.window": {"losses": {"random targets": math.inf, "ln 65": 4.174}},
    }
    spelled = report(**evidence).to_json()
    assert spelled.count(f'"{NOT_FINITE}"') == 6
    assert "null" not in spelled.replace('"location": null', "")
    for document in (spelled, spelled.replace(f'"{NOT_FINITE}"', "null")):  # as reports had it before
        page = html.render(Report.model_validate_json(document))
        assert "nan" not in page
        assert "not finite" in Seen(page).text


def test_in_a_mail_nothing_of_a_student_is_read_as_markdown() -> None:
    text = markdown.render(report().model_copy(update={"output": "```\n# no heading\n~~~"}), name="a*b_c")
    assert text.startswith("# a\\*b\\_c: 93 of 100 points + 4 bonus")
    assert "````text\n```\n# no heading" in text
    assert "see \\<b\\>" in markdown.escape_markdown("see <b>")
    assert markdown.escape_markdown("`a*b` *c*") == "`a*b` \\*c\\*"


def test_grade_writes_the_page(tmp_path: Path) -> None:
    done = command("grade", "student", "--only", "mlp", "--html", str(tmp_path / "r.html"))
    assert done.returncode == 0
    assert "Not implemented yet" in (tmp_path / "r.html").read_text("utf-8")
    assert "--html" in command("grade", "student", "--html", str(tmp_path / "no" / "r.html")).stderr
