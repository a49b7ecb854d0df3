"""A report as Markdown, for a mail: what the page says, without the pictures."""

from __future__ import annotations

import re
from collections.abc import Mapping

from autograder.render.html import STATUS, plain, sections
from autograder.report import Report

SPECIAL = re.compile(r"([\\*_{}\[\]<>#|~])")


def render(
    report: Report, name: str = "", by_hand: Mapping[str, str] | None = None, also: Mapping[str, str] | None = None
) -> str:
    """The text. ``by_hand`` says of a check why its points were set; ``also`` holds further facts for the head."""
    score = f"{report.score:g} of {report.max_score:g} points" if report.gradable else "not graded"
    lines = [f"# {escaped(name or report.submission.id)}: {score}", ""]
    lines += [f"**{escaped(key)}:** {escaped(value)}\n" for key, value in (also or {}).items()]
    if not report.gradable:
        lines += ["The grader itself failed at a check, so this is no grade. Please report it.", ""]
    lines += [f"> {escaped(remark)}\n" for remark in report.remarks]
    for section in sections(report, by_hand or {}):
        lines += [f"## {escaped(section.facts.title)}: {section.score:g} of {section.most:g}", ""]
        for line in section.lines:
            check = line.check
            said = f"- **{escaped(check.title)}**: {STATUS[check.status]}, {check.score:g} of {check.max_score:g}"
            lines.append(said)
            if line.by_hand:
                lines.append(f"  Set by hand: {escaped(line.by_hand)}")
            if line.same_as:
                lines.append(f"  For the same reason as “{escaped(line.same_as)}”.")
            elif check.message:
                lines.append(f"  {escaped(check.message)}")
        lines.append("")
    if report.output.strip():
        text = plain(report.output).rstrip()
        fence = "`" * max(3, 1 + max((len(run) for run in re.findall("`+", text)), default=0))
        lines += ["## What your code printed while it was graded", "", f"{fence}text", text, fence, ""]
    return "\n".join(lines)


def escaped(text: str) -> str:
    """``text`` in one line, with what Markdown would read as its own made harmless, outside of code."""
    parts = re.split(r"(`[^`\n]+`)", " ".join(plain(text).split()))
    return "".join(part if n % 2 else SPECIAL.sub(r"\\\1", part.replace("`", "'")) for n, part in enumerate(parts))
