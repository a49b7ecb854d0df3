"""Render the handout as one self-contained HTML page, with formulas as MathML and the style of the reports."""

from __future__ import annotations

from importlib import resources
from typing import Any

PAGE = """\
<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{{ title }}</title>
<style>
{{ style }}
body { max-width: 52rem; padding: 1rem 1rem 4rem; line-height: 1.55; }
h1 { font-size: 1.8rem; margin: 1rem 0; }
h2 { font-size: 1.35rem; margin: 2.5rem 0 .5rem; padding-top: 1rem; border-top: 1px solid var(--line); }
h3 { font-size: 1.1rem; margin: 1.75rem 0 .5rem; }
h2, h3 { break-after: avoid; }
pre { max-height: none; line-height: 1.4; font-size: .8em; }
pre code { padding: 0; background: none; font-size: 1em; }
.math.block { overflow-x: auto; padding: .3rem 0; }
math { font-size: 1.15em; }
math [mathvariant=bold] { font-weight: bold; }
math[display=block] { width: max-content; min-width: 100%; }
th, td { border-bottom: 1px solid var(--line); padding: .25rem .9rem .25rem 0; }
td code { overflow-wrap: break-word; }
thead:not(:has(th:not(:empty))) { display: none; }
nav ul { columns: 2 14rem; list-style: none; padding: 0; margin: 0; }
li { margin: .35rem 0; }
nav li { margin: 0; padding: .15rem 0; break-inside: avoid; }
@media print { nav { display: none; } .math.block { overflow: visible; } }
</style>
</head>
<body>
{{ first }}<nav aria-label="Contents">
<ul>
{% for anchor, heading in headings %}
<li><a href="#{{ anchor }}">{{ heading }}</a></li>
{% endfor %}
</ul>
</nav>
{{ rest }}</body>
</html>
"""


def render_page(text: str) -> str:
    """Render Markdown that begins with its title; every heading gets an anchor."""
    import jinja2
    from markdown_it import MarkdownIt
    from mdit_py_plugins.anchors import anchors_plugin
    from mdit_py_plugins.dollarmath import dollarmath_plugin

    markdown = MarkdownIt("commonmark").enable("table")
    markdown.use(anchors_plugin, max_level=3).use(dollarmath_plugin, renderer=_convert_to_mathml)
    tokens = markdown.parse(text)
    starts = [at for at, token in enumerate(tokens) if token.type == "heading_open" and token.tag == "h2"]
    headings = [(tokens[at].attrs["id"], _render_inline(markdown, tokens[at + 1])) for at in starts]
    environment = jinja2.Environment(trim_blocks=True, keep_trailing_newline=True, undefined=jinja2.StrictUndefined)
    return environment.from_string(PAGE).render(
        title=tokens[1].content,
        style=resources.files("autograder.render").joinpath("templates/style.css").read_text("utf-8").strip(),
        headings=headings,
        first=markdown.renderer.render(tokens[: starts[0]], markdown.options, {}),
        rest=markdown.renderer.render(tokens[starts[0] :], markdown.options, {}),
    )


def _render_inline(markdown: Any, token: Any) -> str:
    return str(markdown.renderer.renderInline(token.children, markdown.options, {}))


def _convert_to_mathml(formula: str, options: dict[str, Any]) -> str:
    from latex2mathml.converter import convert

    formula = formula.replace(r"\ln ", r"\ln\, ")  # TeX adds this space itself
    return convert(formula, display="block" if options["display_mode"] else "inline")
