"""Render a report as Markdown for an email: the HTML page without the plots."""

from __future__ import annotations

import re
from collections.abc import Mapping

from autograder.grading.report import NO_GRADE, STATUS_PHRASES, Report, format_score
from autograder.render.html import collect_sections, remove_controls

SYNTAX = re.compile(r"([\\*_{}\[\]<>#|~])")


def render(
    report: Report, name: str = "", overrides: Mapping[str, str] | None = None, also: Mapping[str, str] | None = None
) -> str:
    """Return the text. ``overrides`` gives reasons for manual scores by check; ``also`` adds facts to the header."""
    score = format_score(report.score, report.max_score, report.bonus) if report.gradable else "not graded"
    lines = [f"# {escape_markdown(name or report.submission.id)}: {score}", ""]
    lines += [f"**{escape_markdown(key)}:** {escape_markdown(value)}\n" for key, value in (also or {}).items()]
    if not report.gradable:
        lines += [NO_GRADE, ""]
    lines += [f"> {escape_markdown(warning)}\n" for warning in report.warnings]
    for section in collect_sections(report, overrides or {}):
        lines += [f"## {escape_markdown(section.facts.title)}: {section.score:g} of {section.most:g}", ""]
        for line in section.lines:
            check = line.check
            status, points = STATUS_PHRASES[check.status], f"{check.score:g} of {check.max_score:g}"
            lines.append(f"- **{escape_markdown(check.title)}**: {status}, {points}")
            if line.override:
                lines.append(f"  Set manually: {escape_markdown(line.override)}")
            if line.text:
                lines.append(f"  {escape_markdown(line.text)}")
        lines.append("")
    if report.output.strip():
        text = remove_controls(report.output).rstrip()
        fence = "`" * max(3, 1 + max((len(run) for run in re.findall("`+", text)), default=0))
        lines += ["## Output of your code during grading", "", f"{fence}text", text, fence, ""]
    return "\n".join(lines)


def escape_markdown(text: str) -> str:
    """Return ``text`` in one line, with Markdown syntax escaped outside of code."""
    parts = re.split(r"(`[^`\n]+`)", " ".join(remove_controls(text).split()))
    return "".join(part if n % 2 else SYNTAX.sub(r"\\\1", part.replace("`", "'")) for n, part in enumerate(parts))
