"""Test that ``check`` in a notebook grades the cells run so far, in a separate process, once per state of the code."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from autograder.assignment import ASSIGNMENT
from autograder.core.assignment import NOTEBOOK
from autograder.render import html
from autograder.workbench import notebook_check
from autograder.workbench.notebook_check import Result, check
from tests import notebooks
from tests.bank_file import REFERENCE, STUB
from tests.conftest import ROOT

HEAD = "from head import Head"
MINE = [cell["source"] for cell in json.loads(notebooks.of_files(REFERENCE))["cells"]]
WRONG = "class MLP(nn.Module):\n    pass"


@pytest.fixture
def ran(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Set the cells that were run, in an otherwise empty folder."""
    cells: list[str] = []
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(notebook_check, "_read_history", lambda: list(cells))
    monkeypatch.setattr(notebook_check, "_last", None)
    return cells


def test_what_was_run_last_is_graded_once_until_the_code_changes(
    ran: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    ran += [*MINE, WRONG, "for step in range(10**12): pass", "def half(:", *MINE, "check('mlp')"]
    monkeypatch.setattr("rich.console._is_jupyter", lambda: True)
    result = check("mlp")
    assert result.points == 7, result
    assert "MLP" in repr(result).splitlines()[0]
    assert repr(result).endswith(" 7 / 7 points")
    assert "\x1b" not in repr(result)
    assert 'class="autograder"' in result._repr_html_()

    def started(*_: object, **__: object) -> None:
        raise AssertionError("the grader was started again")

    with monkeypatch.context() as patch:
        patch.setattr(subprocess, "run", started)
        ran += ["plt.plot(losses)", "check('causality')"]
        causality = check("causality")
        assert causality.points == 8
        assert '<svg class="heat"' in causality._repr_html_()
        assert check().points == 100
        patch.setenv("NBGRADER_EXECUTION", "autograde")
        assert (repr(causality), repr(check("bonus"))) == ("8", "0")
        patch.delenv("NBGRADER_EXECUTION")
        ran.append(WRONG)
        with pytest.raises(AssertionError, match="started again"):
            check("mlp")


def test_that_cells_were_not_run_is_said_of_those_alone(ran: list[str]) -> None:
    stub = notebooks.cells_of(STUB["gpt.py"].decode())
    ran += [cell for cell in stub if "class Block" not in cell]
    assert notebook_check.UNRUN_HINT not in repr(check("mlp"))
    assert notebook_check.UNRUN_HINT in repr(check("block"))
    assert notebook_check.UNRUN_HINT in repr(check())


def test_an_older_definition_is_not_graded_without_a_word(ran: list[str]) -> None:
    stub = notebooks.cells_of(STUB["gpt.py"].decode())
    ran += ["# a comment", *stub, "class MLP(nn.Module)\n    pass"]
    older = next(n for n, cell in enumerate(ran, 1) if "class MLP" in cell)
    said = f"Note: MLP is graded as in cell [{older}]: cell [{len(ran)}] is not valid Python (line 1: expected ':')."
    assert said in repr(check("mlp"))
    ran.append(stub[older - 2])  # run again, and valid
    assert "is not valid Python" not in repr(check("mlp"))


def submission(ran: list[str]) -> dict[str, bytes]:
    return notebook_check._collect_files(ran, ASSIGNMENT.contract)


def test_cells_keep_their_numbers_and_what_does_not_count_changes_nothing(tmp_path: Path) -> None:
    before = submission(["x = 1", "class GPT: pass"])
    assert submission(["print(2)", "class GPT: pass", "y = 3", "class GPT(:"]) == before
    assert submission(["class GPT: pass"]) != before
    assert before[NOTEBOOK].count(b'"cell_type"') == 2


def test_files_go_along_where_cells_import_them(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("helper", "more", "gpt", "paper"):
        Path(f"{name}.py").write_text("x = 1")
    assert set(submission(["class GPT: pass"])) == {NOTEBOOK}
    assert set(submission(["from helper import x", "class GPT: y = x"])) == {NOTEBOOK, "helper.py", "more.py"}


def test_the_cells_come_from_ipython_as_they_were_typed() -> None:
    code = (
        "from IPython.core.interactiveshell import InteractiveShell\n"
        "shell = InteractiveShell.instance()\n"
        "for cell in ('%time x = 1', 'class GPT(:', '!true', 'y = 2'): shell.run_cell(cell, store_history=True)\n"
        "from autograder.workbench import notebook_check\n"
        "history = notebook_check._read_history()\n"
        "assert history == ['%time x = 1', 'class GPT(:', '!true', 'y = 2'], history\n"
    )
    pytest.importorskip("IPython")
    subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=True, capture_output=True)


def test_asking_for_check_loads_neither_torch_nor_what_shows_it() -> None:
    code = (
        "from autograder import check\nimport sys\n"
        "assert not {'torch', 'jinja2', 'pytest', 'rich'} & set(sys.modules), 'loaded'"
    )
    subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=True)


def test_outside_of_a_notebook_the_files_of_the_folder_are_graded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(notebook_check, "_last", None)
    assert notebook_check._read_history() is None
    result = check("mlp")
    assert result.report is None
    assert "no gpt.py" in repr(result)
    assert "no gpt.py" in result._repr_html_()


def test_an_unknown_criterion_is_answered_with_those_there_are() -> None:
    assert "attention, mlp, block" in repr(check("atention"))


def test_a_style_sheet_inside_of_a_page_holds_there_alone() -> None:
    style = ":root { a: b; } body, h1 { c: d; } .x { e: 1.5rem; } @media print { .y, .z { g: h; } }"
    assert html.scope_style(style) == (  # type: ignore[arg-type]
        ".autograder { a: b; }.autograder, .autograder h1 { c: d; }.autograder .x { e: calc(1.5 * 14px); }"
        " @media print {.autograder .y, .autograder .z { g: h; } }"
    )


def test_a_message_is_escaped() -> None:
    assert Result(None, "<b>").points == 0
    assert Result(None, "<b>")._repr_html_() == "<p>&lt;b&gt;</p>"
