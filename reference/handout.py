"""The handout and the notebooks, made from one text: `step-05.md.jinja`.

The template has the prose, the examples and the places where code goes; `notebook` is true while a notebook is made.
The code of the classes is taken from `gpt.py`, `head.py` and `paper.py`, the written questions from `answers.md`, and
the figures from the grader's course configuration. jupytext turns Markdown into cells, and nbgrader takes the solutions
out. Cells have fixed ids, so the same texts give the same bytes.
"""

from __future__ import annotations

import ast
import math
import re
import warnings
from collections.abc import Mapping
from typing import Any

from autograder.assignment.sizes import SIZES

KERNEL = {"name": "python3", "display_name": "Python 3", "language": "python"}  # a notebook has to name one
CODE = ("gpt.py", "head.py", "paper.py")
TEXTS = ("step-05.md.jinja", *CODE, "answers.md")

CELL_ID = re.compile(r'^```python id="[\w-]+"$', re.MULTILINE)
BLANK_LINES = re.compile(r"(^```.*?^```$)|\n{3,}", re.MULTILINE | re.DOTALL)  # those of code stay
QUESTION = re.compile(r"^## (\d+)\. ([^\n]+) \((\d+) points\)\n(.*?)^### BEGIN SOLUTION$", re.MULTILINE | re.DOTALL)
SOLUTION = re.compile(r"^### BEGIN SOLUTION$.*?^### END SOLUTION$", re.MULTILINE | re.DOTALL)

Texts = Mapping[str, str]


class TextError(Exception):
    """A text cannot be made; the message says in one line which source lacks what."""


def readme(texts: Texts) -> str:
    """The handout as Markdown."""
    return CELL_ID.sub("```python", _rendered(texts, notebook=False))


def readme_page(texts: Texts) -> str:
    """The handout as a page."""
    from reference.page import page

    return page(readme(texts))


def source_notebook(texts: Texts) -> str:
    """The notebook with solutions and marking guides, as nbgrader's `source/` wants it."""
    import nbformat

    return _written(nbformat, _notebook(texts))


def student_notebook(texts: Texts) -> str:
    """The notebook as students get it: what `nbgrader generate_assignment` makes of the one with solutions."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        import nbformat
        from nbgrader.preprocessors import CheckCellMetadata, ClearSolutions, ComputeChecksums, LockCells

    notebook = _notebook(texts)
    for step in (LockCells, ClearSolutions, CheckCellMetadata, ComputeChecksums):
        notebook, _ = step().preprocess(notebook, {})
    return _written(nbformat, notebook)


def figures() -> dict[str, Any]:
    """What the text says about the course's sizes: each number is worked out from the course configuration."""
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


def _rendered(texts: Texts, *, notebook: bool) -> str:
    import jinja2

    environment = jinja2.Environment(
        undefined=jinja2.StrictUndefined, trim_blocks=True, lstrip_blocks=True, keep_trailing_newline=True
    )
    environment.filters |= {"n": lambda number: f"{number:,}", "signed": lambda number: f"{number:+,}"}
    code, questions = {name: texts[name] for name in CODE}, _questions(texts["answers.md"])

    def definition(name: str) -> str:
        return _definition(code, name)[1]

    def solution(name: str) -> str:
        file, lines = _definition(code, name)
        return _cell(name, lines) if notebook else f"→ Write `{name}` in `{file}`."

    def check(criterion: str) -> str:
        if not notebook:
            return f'→ Check it: `make grade ARGS="--only {criterion}"`'
        return _cell(f"check-{criterion}", f'from autograder import check\n\ncheck("{criterion}")')

    def written(number: int) -> str:
        title, points, question, answer = questions[number]
        if not notebook:
            return f"→ Answer question {number} in `answers.md`: *{title}*."
        asked = f"**Question {number}: {title}** ({points} points)\n\n{question}"
        return f'{asked}\n\n<!-- #region id="written-{number}" -->\n{answer}\n<!-- #endregion -->'

    tools = {"definition": definition, "solution": solution, "check": check, "written": written}
    try:
        text = environment.from_string(texts[TEXTS[0]]).render(
            figures(), **tools, notebook=notebook, imports=_imports(code)
        )
    except jinja2.TemplateSyntaxError as error:
        raise TextError(f"line {error.lineno}: {error.message}") from error
    except jinja2.UndefinedError as error:
        raise TextError(str(error)) from error
    return BLANK_LINES.sub(lambda found: found[1] or "\n\n", text).rstrip("\n") + "\n"


def _cell(name: str, lines: str) -> str:
    return f'```python id="{name}"\n{lines}\n```'


def _notebook(texts: Texts) -> Any:
    """The notebook with solutions; cells that nbgrader is to know bear its metadata."""
    import jupytext
    from nbformat.v4 import new_notebook

    from autograder.assignment import ASSIGNMENT
    from autograder.grading import rubric

    form = {"extension": ".md", "format_name": "markdown", "split_at_heading": True}
    cells = jupytext.reads(_rendered(texts, notebook=True), fmt=form).cells
    points = {
        f"check-{c.id}": 0 if c.bonus else sum(k.points for k in c.checks) for c in rubric.load(ASSIGNMENT).criteria
    }
    points |= {f"written-{number}": most for number, (_, most, _, _) in _questions(texts["answers.md"]).items()}
    defined = {node.name for name in CODE for node in _definitions(texts[name]) if name != "head.py"}
    for number, cell in enumerate(cells, start=1):
        own = cell.metadata.get("id")
        cell.id = own or f"text-{number:02d}"
        cell.metadata.clear()
        if own in points or own in defined:
            graded, manual = own in points, cell.cell_type == "markdown"
            cell.metadata["nbgrader"] = {
                "schema_version": 3,
                "grade_id": own,
                "grade": graded,
                "solution": own in defined or manual,
                "locked": graded and not manual,
                "task": False,
            } | ({"points": points[own]} if graded else {})
    return new_notebook(cells=cells, metadata={"kernelspec": KERNEL, "language_info": {"name": "python"}})


def _written(nbformat: Any, notebook: Any) -> str:
    nbformat.validate(notebook)
    text: str = nbformat.writes(notebook)
    return text.rstrip("\n") + "\n"


def _definitions(text: str) -> list[ast.ClassDef | ast.FunctionDef]:
    return [node for node in ast.parse(text).body if isinstance(node, ast.ClassDef | ast.FunctionDef)]


def _definition(code: Mapping[str, str], name: str) -> tuple[str, str]:
    """The file that defines ``name``, and its lines, from the decorators to the last comment inside."""
    for file, text in code.items():
        for node in _definitions(text):
            if node.name == name:
                lines = text.splitlines()
                first = min([node.lineno, *(decorator.lineno for decorator in node.decorator_list)]) - 1
                last = node.end_lineno or node.lineno
                while last < len(lines) and (not lines[last] or lines[last].startswith(" ")):
                    last += 1
                return file, "\n".join(lines[first:last]).rstrip()
    raise TextError(f"asks for {name}, which none of {', '.join(code)} defines")


def _imports(code: Mapping[str, str]) -> str:
    """The imports of gpt.py, without those of the files beside it, which a notebook has in its own cells."""
    own = {name.removesuffix(".py") for name in code}
    text = code["gpt.py"]
    nodes = [node for node in ast.parse(text).body if isinstance(node, ast.Import | ast.ImportFrom)]
    kept = [node for node in nodes if not (isinstance(node, ast.ImportFrom) and node.module in own)]
    lines = [ast.get_source_segment(text, node) or "" for node in kept]
    return re.sub(r"^(import math)\n", r"\1\n\n", "\n".join(lines))


def _questions(text: str) -> dict[int, tuple[str, int, str, str]]:
    """{number: (title, points, question, answer with its marking guide)}."""
    answers = SOLUTION.findall(text)
    found = QUESTION.findall(text)
    if len(answers) != len(found):
        raise TextError(f"answers.md has {len(found)} questions that end in '(N points)', and {len(answers)} answers")
    return {
        int(number): (title, int(points), question.strip(), answer)
        for (number, title, points, question), answer in zip(found, answers, strict=True)
    }
