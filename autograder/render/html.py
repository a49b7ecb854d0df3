"""Render a report as a self-contained HTML file: score, points and reason per check, plots, printed output."""

from __future__ import annotations

import functools
import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup, escape

from autograder.grading.report import (
    NO_GRADE,
    STATUS_PHRASES,
    CriterionFacts,
    Report,
    Verdict,
    format_score,
    parse_numbers,
)
from autograder.render import pictures
from autograder.render.terminal import MARKS

TEMPLATES = Path(__file__).with_name("templates")
SELECTORS = re.compile(r"(^|[{}])([^{}@;]+)\{")  # selectors of rules, not of enclosing at-rules
CODE = re.compile(r"`([^`\n]{1,400})`")


@dataclass(frozen=True, slots=True)
class Line:
    """A check to display: the reason for a manual score, and the check that shows the same cause."""

    check: Verdict
    override: str = ""
    same_as: str = ""


@dataclass(frozen=True, slots=True)
class Section:
    """A criterion with its checks."""

    facts: CriterionFacts
    lines: tuple[Line, ...]

    @property
    def score(self) -> float:
        return sum(line.check.score for line in self.lines)

    @property
    def most(self) -> float:
        return sum(line.check.max_score for line in self.lines)


def collect_sections(report: Report, overrides: Mapping[str, str]) -> list[Section]:
    """Return the criteria that ran; a cause is shown once, and later checks refer to it."""
    found, titles = [], dict[str, str]()
    for criterion in report.criteria:
        lines = []
        for check in report.of(criterion.id):
            if check.status != "skipped":
                first = check.title if check.status == "passed" else titles.setdefault(check.message, check.title)
                lines.append(Line(check, overrides.get(check.id, ""), "" if first == check.title else first))
        if lines:
            found.append(Section(criterion, tuple(lines)))
    return found


def render(
    report: Report, name: str = "", overrides: Mapping[str, str] | None = None, also: Mapping[str, str] | None = None
) -> str:
    """Return the page. ``overrides`` gives reasons for manual scores by check; ``also`` adds facts to the header."""
    return make_environment().get_template("report.html").render(
        report=report,
        name=name or report.submission.id,
        sections=collect_sections(report, overrides or {}),
        also=also or {},
    )  # fmt: skip


def render_fallback(name: str, line: str, text: str) -> str:
    """Return the fallback page for a report that could not be rendered: the reason, and the report as text."""
    return make_environment().get_template("fallback.html").render(name=name, line=line, text=text)


def render_fragment(report: Report) -> str:
    """Return the criteria of ``report`` to embed in a page, such as a notebook, without changing the page's style."""
    return make_environment().get_template("fragment.html").render(
        report=report, sections=collect_sections(report, {}), style=scope_style(_read_style())
    )  # fmt: skip


def scope_style(style: str) -> Markup:
    """Return a style sheet that applies only inside ``.autograder`` and inherits no sizes."""

    def selectors(match: re.Match[str]) -> str:
        listed = [re.sub(r"^(:root|body)$", "", one.strip()) for one in match[2].split(",")]
        return f"{match[1]}{', '.join(f'.autograder {one}'.strip() for one in listed)} {{"

    return Markup(re.sub(r"([\d.]+)rem\b", r"calc(\1 * 14px)", SELECTORS.sub(selectors, style)))


@functools.cache
def make_environment() -> Environment:
    """Return the template environment: text is escaped, undefined names raise."""
    made = Environment(
        loader=FileSystemLoader(TEMPLATES),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.filters |= {"code": format_code, "points": "{:g}".format, "number": "{:,}".format, "plain": remove_controls}
    made.filters["loss"] = lambda loss: (
        f"{value:.3f}" if math.isfinite(value := parse_numbers([loss])[0]) else "not finite"
    )
    made.globals |= {
        "marks": MARKS,
        "status": STATUS_PHRASES,
        "no_grade": NO_GRADE,
        "picture": pictures,
        "format_score": format_score,
    }
    made.globals["style"] = _read_style()
    return made


def format_code(text: str) -> Markup:
    """Return ``text`` as HTML, with code elements for its parts in backticks."""
    parts = CODE.split(remove_controls(text))
    return Markup("").join(
        Markup("<code>{}</code>").format(part) if n % 2 else escape(part) for n, part in enumerate(parts)
    )


def remove_controls(text: Any) -> str:
    """Return ``text`` without characters that HTML cannot hold or that would reverse its direction."""
    return "".join(c if c in "\n\t" or c.isprintable() else "\ufffd" for c in str(text).replace("\r\n", "\n"))


def _read_style() -> Markup:
    return Markup((TEMPLATES / "style.css").read_text("utf-8"))
