"""Render the handout as one HTML file that needs no network: formulas, pictures, and Python that runs on the page.

The boxes with Python run in MicroPython, compiled to WebAssembly and embedded in the page. Pages that are opened as
files can't load other files, nor run modules in workers; so the interpreter's module becomes a classic script.
"""

from __future__ import annotations

import base64
import gzip
import html
import re
from collections.abc import Callable, Mapping
from importlib import resources
from pathlib import Path
from typing import Any

from reference.pictures import STYLE

WEB = Path(__file__).parent / "web"
FENCE = re.compile(r'python id="(?P<id>[\w-]+)"')
# What keeps the interpreter's module from being a classic script, and from using a binary that it is given.
AS_SCRIPT = (
    ("import.meta.url", "self.location.href"),
    ("export default _createMicroPythonModule;", ""),
    ("export async function loadMicroPython", "async function loadMicroPython"),
    ("let Module={locateFile:", "let Module={wasmBinary:options.wasmBinary,locateFile:"),
)
# Pygments' kinds of tokens, as the page's classes.
CLASSES = {
    "Keyword": "k",
    "Literal.String": "s",
    "Comment": "c",
    "Literal.Number": "m",
    "Name.Function": "f",
    "Name.Class": "f",
}


def render_page(text: str, pictures: Mapping[str, str], outputs: Mapping[str, str]) -> str:
    """Render Markdown that begins with its title; every heading gets an anchor.

    Args:
        text: The handout. Code with an id is an example, which runs on the page if its id begins with "python-".
        pictures: The SVG of each image, by the name in its path.
        outputs: What each example prints, by its id.
    """
    import jinja2
    from markdown_it import MarkdownIt
    from mdit_py_plugins.anchors import anchors_plugin
    from mdit_py_plugins.dollarmath import dollarmath_plugin

    markdown = MarkdownIt("commonmark").enable("table")
    markdown.use(anchors_plugin, max_level=3, permalink=True, permalinkSymbol="#")
    markdown.use(dollarmath_plugin, renderer=_convert_to_mathml)
    markdown.add_render_rule("fence", _make_fence_rule(outputs))
    markdown.add_render_rule("image", _make_image_rule(pictures))
    tokens = markdown.parse(text)
    headings = [
        (token.attrs["id"], _render_heading(markdown, tokens[at + 1]))
        for at, token in enumerate(tokens)
        if token.type == "heading_open" and token.tag == "h2"
    ]
    environment = jinja2.Environment(trim_blocks=True, keep_trailing_newline=True, undefined=jinja2.StrictUndefined)
    shared = resources.files("autograder.render").joinpath("templates/style.css").read_text("utf-8").strip()
    return environment.from_string(_read("page.html")).render(
        title=_get_text(tokens[1]),
        style="\n".join(text.strip() for text in (shared, _read("page.css"), STYLE)),
        headings=headings,
        body=re.sub(
            r"<p>(<figure>.*?</figure>)</p>",
            r"\1",
            markdown.renderer.render(tokens, markdown.options, {}),
            flags=re.DOTALL,
        ),
        licence=html.escape(_read("MICROPYTHON.md").partition("\n\n")[2].partition("\n\n")[2].strip()),
        worker=_pack(_make_worker().encode()),
        wasm=_pack((WEB / "micropython.wasm").read_bytes()),
        script=_read("live.js"),
    )


def _read(name: str) -> str:
    return (WEB / name).read_text("utf-8")


def _pack(data: bytes) -> str:
    return base64.b64encode(gzip.compress(data, mtime=0)).decode()


def _make_worker() -> str:
    module = _read("micropython.mjs")
    for old, new in AS_SCRIPT:
        assert old in module, f"micropython.mjs has no {old!r}; was it updated?"
        module = module.replace(old, new)
    return f"(async () => {{\n{_read('worker.js')}\n{module}\n}})();\n"


def highlight(code: str) -> str:
    """Return Python code as HTML, with the classes of page.css."""
    from pygments.lexers import PythonLexer

    parts = []
    for kind, text in PythonLexer(stripnl=False).get_tokens(code):
        name = next(
            (css for pygments, css in CLASSES.items() if str(kind).removeprefix("Token.").startswith(pygments)), ""
        )
        escaped = html.escape(text, quote=False)
        parts.append(f'<span class="{name}">{escaped}</span>' if name else escaped)
    return "".join(parts)


def _make_fence_rule(outputs: Mapping[str, str]) -> Callable[..., str]:
    def render(_: Any, tokens: list[Any], at: int, options: Any, env: Any) -> str:
        token = tokens[at]
        found = FENCE.fullmatch(token.info.strip())
        is_python = token.info.startswith("python")
        code = highlight(token.content) if is_python else html.escape(token.content, quote=False)
        listing = f'<pre class="code" tabindex="0"><code>{code}</code></pre>'
        if found is None:
            return f'<div class="listing">{listing}</div>\n'
        live = found["id"].startswith("python-")
        title = found["id"].partition("-")[2].replace("-", " ")
        output = html.escape(outputs[found["id"]], quote=False)
        return (
            f'<div class="example{" live" if live else ""}" data-title="{title}">{listing}'
            f'<pre class="output" role="status" aria-label="Output" tabindex="0">{output}</pre></div>\n'
        )

    return render


def _make_image_rule(pictures: Mapping[str, str]) -> Callable[..., str]:
    def render(_: Any, tokens: list[Any], at: int, options: Any, env: Any) -> str:
        token = tokens[at]
        svg = pictures[Path(token.attrs["src"]).stem].replace(f"<style>\n{STYLE}</style>\n", "")
        label = html.escape(token.content)
        return "<figure>" + svg.replace("<svg ", f'<svg role="img" aria-label="{label}" ', 1).strip() + "</figure>"

    return render


def _get_text(token: Any) -> str:
    return "".join(child.content for child in token.children if child.type in ("text", "code_inline"))


def _render_heading(markdown: Any, token: Any) -> str:
    children = list(token.children)
    cut = next(
        (n for n, child in enumerate(children) if "header-anchor" in str(child.attrs.get("class", ""))), len(children)
    )
    return str(markdown.renderer.renderInline(children[:cut], markdown.options, {})).strip()


def _convert_to_mathml(formula: str, options: dict[str, Any]) -> str:
    from latex2mathml.converter import convert

    formula = formula.replace(r"\ln ", r"\ln\, ")  # TeX adds this space itself
    return convert(formula, display="block" if options["display_mode"] else "inline")
