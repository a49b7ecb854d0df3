"""Generate the handout and the notebooks from one template, `step-05.md.jinja`.

The template has the prose and the examples, and includes the rest: code from the files in CODE, written questions from
`answers.md`, and figures from the course configuration. `notebook` and `page` are true while a notebook or the HTML
page is rendered. jupytext turns Markdown into cells, and nbgrader removes the solutions. Cells have fixed ids, so the
same texts give the same bytes.
"""

from __future__ import annotations

import ast
import base64
import json
import math
import re
import warnings
from collections.abc import Mapping
from typing import Any

from autograder.assignment.sizes import SIZES

KERNEL = {"name": "python3", "display_name": "Python 3", "language": "python"}  # required in a notebook
CODE = ("gpt.py", "head.py", "paper.py", "verify.py")
TEXTS = ("step-05.md.jinja", *CODE, "answers.md", "measured.json")

CELL_ID = re.compile(r'^```python id="[\w-]+"$', re.MULTILINE)
ATTACHMENT = re.compile(r"\]\(attachment:(\w+)\.svg\)")
BLANK_LINES = re.compile(r"(^```.*?^```$)|\n{3,}", re.MULTILINE | re.DOTALL)  # except in code
QUESTION = re.compile(
    r"^## (\d+)\. ([^\n]+) \((\d+) points(?:, optional)?\)\n(.*?)^### BEGIN SOLUTION$", re.MULTILINE | re.DOTALL
)
SOLUTION = re.compile(r"^### BEGIN SOLUTION$.*?^### END SOLUTION$", re.MULTILINE | re.DOTALL)

Texts = Mapping[str, str]


class TextError(Exception):
    """A text cannot be generated; the message gives the cause in one line."""


def make_readme(texts: Texts) -> str:
    """Return the handout as Markdown. Raises TextError."""
    return CELL_ID.sub("```python", render(texts, notebook=False))


def make_readme_page(texts: Texts) -> str:
    """Return the handout as an HTML page. Raises TextError."""
    from reference.page import render_page
    from reference.pictures import PICTURES

    measured = texts["measured.json"]
    pictures = {name: draw(measured) for name, draw in PICTURES.items()}
    return render_page(render(texts, notebook=False, page=True), pictures, json.loads(measured)["outputs"])


def make_source_notebook(texts: Texts) -> str:
    """Return the notebook with solutions and marking guides, for nbgrader's `source/`. Raises TextError."""
    import nbformat

    return _serialise(nbformat, _build_notebook(texts))


def make_student_notebook(texts: Texts) -> str:
    """Return the student notebook, as `nbgrader generate_assignment` would write it. Raises TextError."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        import nbformat
        from nbgrader.preprocessors import CheckCellMetadata, ClearSolutions, ComputeChecksums, LockCells

    notebook = _build_notebook(texts)
    for step in (LockCells, ClearSolutions, CheckCellMetadata, ComputeChecksums):
        notebook, _ = step().preprocess(notebook, {})
    return _serialise(nbformat, notebook)


def compute_figures() -> dict[str, Any]:
    """Compute the numbers in the handout from the course configuration."""
    from autograder.assignment import ASSIGNMENT
    from autograder.assignment.measure.initialisation import ABOVE, BELOW
    from autograder.assignment.oracle import parameter_count
    from autograder.grading import rubric

    n = SIZES.course
    parts, total, chance = parameter_count.parts(n.V, n.T_max, n.d, n.L), parameter_count.total(n), math.log(n.V)
    rule, blocks, rest = parameter_count.rule_of_thumb(n)
    criteria = rubric.load(ASSIGNMENT).criteria
    return n.arguments() | {
        "d_head": n.d // n.H,
        "parts": parts,
        "shares": {part: f"{100 * number / total:.1f}" for part, number in parts.items()},
        "total": total,
        "tied": total - n.V * n.d,
        "rule": rule,
        "blocks": blocks,
        "rest": rest,
        "mlp_to_attention": f"{parts['mlp'] / parts['attention']:.3f}",
        "ln_V": f"{chance:.3f}",
        "loss_torch": f"{chance + 1 / 6:.2f}",  # d s^2 / 2 with s^2 = 1 / (3 d)
        "loss_gpt2": f"{chance + n.d * 0.02**2 / 2:.2f}",
        "low": f"{chance - BELOW:.2f}",
        "high": f"{chance + ABOVE:.2f}",
        "alphabet": repr(SIZES.alphabet),
        "points": sum(check.points for c in criteria if not c.bonus for check in c.checks),
        "bonus": sum(check.points for c in criteria if c.bonus for check in c.checks),
    }


def render(texts: Texts, *, notebook: bool, page: bool = False) -> str:
    """Return the handout, for Markdown or the HTML ``page``, or the ``notebook``; code has ids. Raises TextError."""
    import jinja2

    environment = jinja2.Environment(
        undefined=jinja2.StrictUndefined, trim_blocks=True, lstrip_blocks=True, keep_trailing_newline=True
    )
    environment.filters |= {"n": lambda number: f"{number:,}", "signed": lambda number: f"{number:+,}"}
    code, questions = {name: texts[name] for name in CODE}, _parse_questions(texts["answers.md"])

    def definition(name: str) -> str:
        return _find_definition(code, name)[1]

    def solution(name: str) -> str:
        file, lines = _find_definition(code, name)
        return _format_cell(name, lines) if notebook else f"→ Write `{name}` in `{file}`."

    def check(criterion: str) -> str:
        if not notebook:
            return f'→ Check it: `make grade ARGS="--only {criterion}"`'
        return _format_cell(f"check-{criterion}", f'from autograder import check\n\ncheck("{criterion}")')

    def question(number: int) -> str:
        title, points, text, answer = questions[number]
        if not notebook:
            return f"→ Answer question {number} in `answers.md`: *{title}*."
        heading = f"**Question {number}: {title}** ({points} points)\n\n{text}"
        return f'{heading}\n\n<!-- #region id="written-{number}" -->\n{answer}\n<!-- #endregion -->'

    tools = {"definition": definition, "solution": solution, "check": check, "question": question}
    try:
        text = environment.from_string(texts[TEXTS[0]]).render(
            compute_figures(), **tools, notebook=notebook, page=page, imports=_find_imports(code)
        )
    except jinja2.TemplateSyntaxError as error:
        raise TextError(f"line {error.lineno}: {error.message}") from error
    except jinja2.UndefinedError as error:
        raise TextError(str(error)) from error
    return BLANK_LINES.sub(lambda found: found[1] or "\n\n", text).rstrip("\n") + "\n"


def _format_cell(name: str, lines: str) -> str:
    return f'```python id="{name}"\n{lines}\n```'


def _build_notebook(texts: Texts) -> Any:
    """Build the notebook with solutions, and nbgrader's metadata on the cells it grades."""
    import jupytext
    from nbformat.v4 import new_notebook

    from autograder.assignment import ASSIGNMENT
    from autograder.grading import rubric

    markdown = {"extension": ".md", "format_name": "markdown", "split_at_heading": True}
    cells = jupytext.reads(render(texts, notebook=True), fmt=markdown).cells
    points = {
        f"check-{c.id}": 0 if c.bonus else sum(k.points for k in c.checks) for c in rubric.load(ASSIGNMENT).criteria
    }
    points |= {f"written-{n}": worth for n, (_, worth, _, _) in _parse_questions(texts["answers.md"]).items()}
    defined = {node.name for name in CODE for node in _parse_definitions(texts[name]) if name != "head.py"}
    for number, cell in enumerate(cells, start=1):
        cell_id = cell.metadata.get("id")
        cell.id = cell_id or f"text-{number:02d}"
        cell.metadata.clear()
        if names := ATTACHMENT.findall(cell.source):  # files beside a notebook get lost on the way to a platform
            cell.attachments = {f"{name}.svg": {"image/svg+xml": _draw(name, texts)} for name in names}
        if cell.id.startswith("try-"):  # so that running the whole notebook goes on where code is still missing
            cell.metadata["tags"] = ["raises-exception"]
        if cell_id in points or cell_id in defined:
            graded, manual = cell_id in points, cell.cell_type == "markdown"
            cell.metadata["nbgrader"] = {
                "schema_version": 3,
                "grade_id": cell_id,
                "grade": graded,
                "solution": cell_id in defined or manual,
                "locked": graded and not manual,
                "task": False,
            } | ({"points": points[cell_id]} if graded else {})
    return new_notebook(cells=cells, metadata={"kernelspec": KERNEL, "language_info": {"name": "python"}})


def _draw(name: str, texts: Texts) -> str:
    from reference.pictures import PICTURES

    return base64.b64encode(PICTURES[name](texts["measured.json"]).encode()).decode()


def _serialise(nbformat: Any, notebook: Any) -> str:
    nbformat.validate(notebook)
    text: str = nbformat.writes(notebook)
    return text.rstrip("\n") + "\n"


def _parse_definitions(text: str) -> list[ast.ClassDef | ast.FunctionDef]:
    return [node for node in ast.parse(text).body if isinstance(node, ast.ClassDef | ast.FunctionDef)]


def _find_definition(code: Mapping[str, str], name: str) -> tuple[str, str]:
    """Return the file that defines ``name`` and its lines, from decorators to last comment. Raises TextError."""
    for file, text in code.items():
        for node in _parse_definitions(text):
            if node.name == name:
                lines = text.splitlines()
                first = min([node.lineno, *(decorator.lineno for decorator in node.decorator_list)]) - 1
                last = node.end_lineno or node.lineno
                while last < len(lines) and (not lines[last] or lines[last].startswith(" ")):
                    last += 1
                return file, "\n".join(lines[first:last]).rstrip()
    raise TextError(f"{name} is not defined in any of {', '.join(code)}")


def _find_imports(code: Mapping[str, str]) -> str:
    """Return the imports of gpt.py, except those of other course files, which a notebook has as cells."""
    course_files = {name.removesuffix(".py") for name in code}
    text = code["gpt.py"]
    nodes = [node for node in ast.parse(text).body if isinstance(node, ast.Import | ast.ImportFrom)]
    kept = [node for node in nodes if not (isinstance(node, ast.ImportFrom) and node.module in course_files)]
    lines = [ast.get_source_segment(text, node) or "" for node in kept]
    return re.sub(r"^(import math)\n", r"\1\n\n", "\n".join(lines))


def _parse_questions(text: str) -> dict[int, tuple[str, int, str, str]]:
    """Return {number: (title, points, question, answer with its marking guide)}. Raises TextError."""
    answers = SOLUTION.findall(text)
    found = QUESTION.findall(text)
    if len(answers) != len(found):
        raise TextError(f"answers.md has {len(found)} questions that end in '(N points)', and {len(answers)} answers")
    return {
        int(number): (title, int(points), question.strip(), answer)
        for (number, title, points, question), answer in zip(found, answers, strict=True)
    }
