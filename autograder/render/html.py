"""Render a report as a self-contained HTML file: causes with the code, then every check, plots, printed output."""

from __future__ import annotations

import functools
import math
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup, escape

from autograder.grading.causes import Cause, describe_checks, find_causes
from autograder.grading.report import (
    NO_GRADE,
    STATUS_PHRASES,
    CriterionFacts,
    Location,
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
    """A check to display, its text, and the reason for a manual score."""

    check: Verdict
    text: str
    override: str = ""


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

    @property
    def is_open(self) -> bool:
        """Return whether something is left to do or to read here."""
        return any(line.check.status != "passed" or line.override for line in self.lines)


def collect_sections(report: Report, overrides: Mapping[str, str], explained: Sequence[Cause] = ()) -> list[Section]:
    """Return the criteria that ran; each cause is explained once, and other checks refer to it.

    The page explains the causes ``explained`` elsewhere.
    """
    texts = describe_checks(report.checks, explained)
    found = []
    for criterion in report.criteria:
        lines = [
            Line(check, texts[check.id], overrides.get(check.id, ""))
            for check in report.of(criterion.id)
            if check.status != "skipped"
        ]
        if lines:
            found.append(Section(criterion, tuple(lines)))
    return found


def render(
    report: Report,
    name: str = "",
    overrides: Mapping[str, str] | None = None,
    also: Mapping[str, str] | None = None,
    hints: Collection[str] = (),
) -> str:
    """Return the page.

    Args:
        report: The report.
        name: The title, by default the submission's name.
        overrides: Reasons for manual scores, by check.
        also: Facts for the header.
        hints: The criteria whose hints are shown.
    """
    causes = _find_failures(report)
    return make_environment().get_template("report.html").render(
        report=report,
        name=name or report.submission.id,
        causes=causes,
        sections=collect_sections(report, overrides or {}, causes),
        also=also or {},
        hints=hints,
    )  # fmt: skip


def _find_failures(report: Report) -> list[Cause]:
    """Return the causes of failures; what is not implemented is listed by definition."""
    return [cause for cause in find_causes(report) if not cause.is_undone]


def render_fallback(name: str, line: str, text: str) -> str:
    """Return the fallback page for a report that could not be rendered: the reason, and the report as text."""
    return make_environment().get_template("fallback.html").render(name=name, line=line, text=text)


def render_fragment(report: Report) -> str:
    """Return the criteria of ``report`` as part of another page, such as a notebook, without changing its style."""
    causes = _find_failures(report)
    return make_environment().get_template("fragment.html").render(
        report=report,
        causes=causes,
        sections=collect_sections(report, {}, causes),
        style=scope_style(_read_style()),
        hints=(),
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
    made.filters |= {
        "code": format_code,
        "source": format_source,
        "points": "{:g}".format,
        "number": "{:,}".format,
        "plain": remove_controls,
    }
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


def format_source(place: Location) -> Markup:
    """Return the code around a location as HTML, with its line marked, and the part that raised, if known."""
    digits = len(str(place.first + len(place.source)))
    lines = [*map(remove_controls, place.source)]
    indent = min((len(line) - len(line.lstrip(" ")) for line in lines if line.strip()), default=0)
    rows = []
    for number, text in enumerate((line[indent:] for line in lines), place.first):
        code = escape(text)
        if number == place.line and place.column:
            start, end = (max(0, column - 1 - indent) for column in (place.column, place.end_column))
            code = Markup("{}<mark>{}</mark>{}").format(text[:start], text[start:end], text[end:])
        is_here = Markup(' class="here"') if number == place.line else ""
        rows.append(Markup('<span{}><span class="n">{:>{}}</span> {}</span>').format(is_here, number, digits, code))
    return Markup("\n").join(rows)


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
