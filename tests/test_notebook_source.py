"""The student notebook has no solutions, and nbgrader's source notebook runs from top to bottom."""

from __future__ import annotations

import ast
import importlib
import json
import os
import re
import sys
from pathlib import Path
from typing import Any

import pytest

from autograder.assignment import ASSIGNMENT
from autograder.grading import rubric

pytest.importorskip("jupytext")
pytest.importorskip("nbgrader")

ROOT = Path(__file__).resolve().parent.parent
STUDENT = ROOT / "student" / "step-05.ipynb"
CODE = ("gpt.py", "head.py", "paper.py", "verify.py")


@pytest.fixture(scope="module")
def source() -> dict[str, Any]:
    return json.loads(importlib.import_module("reference.derive").make_source_notebook())


@pytest.fixture(scope="module")
def student() -> dict[str, Any]:
    return json.loads(STUDENT.read_text("utf-8"))


def text(cell: dict[str, Any]) -> str:
    return "".join(cell["source"])


def by_id(notebook: dict[str, Any]) -> dict[str, dict[str, Any]]:
    return {cell["id"]: cell for cell in notebook["cells"]}


def test_the_source_is_reproducible_and_has_no_output(source):
    derive = importlib.import_module("reference.derive")
    derive.make_from_texts.cache_clear()
    assert json.loads(derive.make_source_notebook()) == source
    for cell in source["cells"]:
        assert cell.get("outputs", []) == []
        assert cell.get("execution_count") is None
    assert set(source["metadata"]) == {"kernelspec", "language_info"}


def test_nbgrader_accepts_the_source_and_ids_are_unique(source):
    import nbformat
    from nbgrader.nbgraderformat import MetadataValidator

    nbformat.validate(nbformat.from_dict(source))
    ids = [cell["id"] for cell in source["cells"]]
    assert len(ids) == len(set(ids))
    for cell in nbformat.from_dict(source)["cells"]:
        if "nbgrader" in cell.metadata:
            MetadataValidator().validate_cell(cell)
            assert cell.metadata.nbgrader.grade_id == cell.id


def test_each_definition_and_each_criterion_has_its_cell(source):
    cells = by_id(source)
    kinds = {name: cell["metadata"].get("nbgrader", {}) for name, cell in cells.items()}
    solutions = {name for name, kind in kinds.items() if kind.get("solution") and not kind["grade"]}
    assert solutions == {entry.name for entry in ASSIGNMENT.contract.definitions}
    points = {name: kind["points"] for name, kind in kinds.items() if name.startswith("check-")}
    assert points == {
        f"check-{c.id}": 0 if c.bonus else sum(k.points for k in c.checks) for c in rubric.load(ASSIGNMENT).criteria
    }
    assert sum(points.values()) == rubric.load(ASSIGNMENT).total
    for name in points:
        assert kinds[name] | {"points": 0} == {
            "schema_version": 3, "grade_id": name, "grade": True, "solution": False, "locked": True, "task": False,
            "points": 0,
        }  # fmt: skip
        *_, last = ast.parse(text(cells[name])).body
        assert ast.unparse(last) == f"check({name.removeprefix('check-')!r})"  # an expression: nbgrader reads its value


def test_the_marking_guides_add_up_to_the_points_of_each_question(source):
    words = {"one": 1, "two": 2, "three": 3, "four": 4, "five": 5}
    answers = {name: cell for name, cell in by_id(source).items() if name.startswith("written-")}
    assert sorted(answers) == [f"written-{n}" for n in range(1, 6)]
    for cell in answers.values():
        guide = text(cell).split("Marking:")[1].replace("\n", " ")
        guide = re.sub(r"\(.*?\)", "", guide).split(". ")[0]
        given = sum(words[word] for word in re.findall(r"\b(one|two|three|four|five) (?:points? )?for\b", guide))
        assert given == cell["metadata"]["nbgrader"]["points"], guide


def test_students_get_the_same_notebook_without_solutions_and_guides(source, student):
    given, handed_out = by_id(source), by_id(student)
    assert list(given) == list(handed_out)
    solved = re.compile(r"^( *)### BEGIN SOLUTION\n.*?^ *### END SOLUTION$", re.MULTILINE | re.DOTALL)
    for name, cell in given.items():
        stub = (
            r"\1# YOUR CODE HERE\n\1raise NotImplementedError()" if cell["cell_type"] == "code" else "YOUR ANSWER HERE"
        )
        assert text(handed_out[name]) == solved.sub(stub, text(cell))
    raw = STUDENT.read_text("utf-8")
    assert "SOLUTION" not in raw
    assert "Marking" not in raw
    solution_lines = {
        line.strip()
        for name in ("gpt.py", "paper.py", "verify.py")
        for region in re.findall(
            r"BEGIN SOLUTION\n(.*?)\n *### END", (ROOT / "reference" / name).read_text(), re.DOTALL
        )
        for line in region.splitlines()
        if len(line.strip()) > 30
    }
    solution_lines -= {line.strip() for line in (ROOT / "reference" / "head.py").read_text().splitlines()}  # given
    assert len(solution_lines) > 30
    assert not [line for line in solution_lines if line in "\n".join(map(text, student["cells"]))]


def test_the_notebook_has_the_code_of_the_files(student):
    cells = by_id(student)
    for name in CODE:
        module = (ROOT / "student" / name).read_text("utf-8")
        for node in ast.parse(module).body:
            if isinstance(node, ast.ClassDef | ast.FunctionDef):
                (found,) = ast.parse(text(cells[node.name])).body
                assert ast.dump(found) == ast.dump(node), node.name


def test_no_example_defines_a_graded_name(student):
    wanted = {entry.name for entry in ASSIGNMENT.contract.definitions} | {"Head"}
    for cell in student["cells"]:
        if cell["cell_type"] == "code" and cell["id"] not in wanted:
            names = {n.name for n in ast.walk(ast.parse(text(cell))) if isinstance(n, ast.ClassDef | ast.FunctionDef)}
            assert not names & wanted, cell["id"]


def test_each_new_python_feature_has_an_example(student):
    topics = [
        "generator-expression",
        "integer-division",
        "tuple-unpacking",
        "list-comprehension",
        "super",
        "module-list",
    ]
    cells = student["cells"]
    for topic in topics:
        (at,) = [
            number
            for number, cell in enumerate(cells)
            if cell["id"].removeprefix("try-").removeprefix("python-") == topic
        ]
        assert cells[at - 1]["cell_type"] == "markdown"  # the explanation
        assert "nbgrader" not in cells[at]["metadata"]  # students may change or delete it


def run(
    notebook: dict[str, Any], folder: Path, monkeypatch: pytest.MonkeyPatch, skip: tuple[str, ...]
) -> dict[str, Any]:
    """Execute the notebook, without cells whose id starts with one of ``skip``."""
    nbclient, nbformat = pytest.importorskip("nbclient"), pytest.importorskip("nbformat")
    monkeypatch.setenv("OMP_NUM_THREADS", "1")  # two threads are many times slower on a busy machine
    monkeypatch.setenv("JUPYTER_RUNTIME_DIR", str(folder / "jupyter"))
    monkeypatch.setenv("IPYTHONDIR", str(folder / "ipython"))
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")]))
    kept = [cell for cell in notebook["cells"] if not cell["id"].startswith(skip)]
    loaded = nbformat.reads(json.dumps({**notebook, "cells": kept}), as_version=4)
    client = nbclient.NotebookClient(
        loaded, timeout=600, kernel_name="python3", resources={"metadata": {"path": folder}}
    )
    client.km = client.create_kernel_manager()
    client.km.kernel_spec.argv[0] = sys.executable  # this environment, whatever kernels are registered on the machine
    return client.execute()


def printed(cell: dict[str, Any]) -> str:
    return "".join(output.get("text", "") for output in cell.get("outputs", []))


def shown(cell: dict[str, Any]) -> str:
    return "".join(
        output["data"]["text/plain"] for output in cell["outputs"] if output["output_type"] == "execute_result"
    )


def test_with_solutions_the_notebook_runs_from_top_to_bottom(source, tmp_path, monkeypatch):
    done = by_id(run(source, tmp_path, monkeypatch, skip=("nothing",)))
    assert printed(done["try-parameters"]).split() == ["True"]
    assert printed(done["try-causality"]).split() == ["True"]
    assert printed(done["try-loss"]).split() == ["True"]
    *_, last = printed(done["try-training"]).splitlines()
    assert last.startswith("50 ")
    assert float(last.split()[1]) < 0.2
    assert len(printed(done["try-shapes"]).splitlines()) == 7
    assert printed(done["try-module-list"]).splitlines() == ["Plain 0", "Registered 36"]
    assert "14 / 14" in shown(done["check-attention"])
    assert "100 / 100" in shown(done["look-at-all"])


def test_without_solutions_the_notebook_runs_to_the_end(student, tmp_path, monkeypatch):
    done = by_id(run(student, tmp_path, monkeypatch, skip=("check-",)))
    assert "torch.Size([1, 5, 3])" in printed(done["try-head"])
    assert done["try-training"]["outputs"][0]["ename"] == "NotImplementedError"
    assert "0 / 100" in shown(done["look-at-all"])
