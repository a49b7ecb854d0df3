"""nbgrader's own commands, run on a course folder as `make nbgrader-course` makes it: its scores are the grader's."""

from __future__ import annotations

import csv
import json
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from autograder import rubric
from tests import bank_file
from tests.bank_file import BANK, REFERENCE
from tests.notebooks import FROM_HEAD, code

pytest.importorskip("nbgrader")
pytest.importorskip("jupytext")

from autograder.course import nbgrader, nbgrader_autograde, nbgrader_course

ROWS = rubric.load()
WRITTEN = 24  # points of the written answers, which are marked by hand
SHARE = {"passed": 1.0, "partial": 0.5}
KILLED = "\nimport os\n\nclass MLP(nn.Module):\n    def __init__(self, d):\n        os._exit(9)\n"
CLASS = {
    "reference": "",
    "stub": "broken/stub",
    "variant": "variants/einsum_parameters",
    "optional": "variants/all_optional_parts",
    "relu": "mistakes/mlp_relu",
    "strict": "mistakes/attention_mask_strict",
    "lists": "mistakes/attention_heads_in_list",
    "killer": "",
    "forger": "mistakes/attention_mask_strict",
    "deleter": "",
}


def expected(name: str) -> dict[str, float]:
    """The points by criterion that the bank says, which test_bank.py holds against `grade`."""
    entry = bank_file.load(BANK / f"{name}.py")
    lost = entry.loses | entry.bonus
    return {
        row.id: sum(SHARE.get(lost.get(check.id, "passed"), 0.0) * check.points for check in row.checks)
        for row in ROWS.criteria
    }


def written(release: dict[str, Any], gpt: str, paper: str) -> list[dict[str, Any]]:
    """The cells of the released notebook with a student's code in those that are to be filled in."""
    cells = json.loads(json.dumps(release["cells"]))
    for cell in cells:
        facts = cell["metadata"].get("nbgrader", {})
        if cell["cell_type"] == "code" and facts.get("solution"):
            first = {"MultiHeadAttention": FROM_HEAD.sub("", gpt), "parameter_count": paper}
            cell["source"] = first.get(facts["grade_id"], "# above")
    return cells


def forge(cells: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Everything that gives full marks in plain nbgrader."""
    tricks = (
        "class Equal:\n    def __eq__(self, other): return True\n",
        "import ast\nget_ipython().ast_transformers.append(ast.NodeTransformer())\n",
        "import autograder\nautograder.check = lambda name: 100\nfrom autograder import check\n",
        "check = lambda name: 100\n",
    )
    for cell in cells:
        if cell["metadata"].get("nbgrader", {}).get("grade_id", "").startswith("check-"):
            cell["source"] = "-1  # nan, True, None"
            cell["metadata"]["nbgrader"]["points"] = 1000
            data = {"text/plain": "7"}
            cell["outputs"] = [{"output_type": "execute_result", "data": data, "metadata": {}, "execution_count": 1}]
    return [code(tricks[0]), *cells, *map(code, tricks)]


def delete(cells: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Without the cells that ask for points."""
    return [c for c in cells if not c["metadata"].get("nbgrader", {}).get("grade_id", "").startswith("check-")]


@dataclass
class NbgraderCourse:
    """A course folder and what was said in it."""

    root: Path
    said: str = ""

    def run(self, *command: str, status: int = 0) -> str:
        """A command of nbgrader."""
        done = subprocess.run(
            [sys.executable, "-m", "nbgrader", *command], cwd=self.root, capture_output=True, text=True, check=False
        )
        assert done.returncode == status, done.stdout + done.stderr
        return done.stdout + done.stderr

    def scores(self) -> dict[str, Any]:
        """By student: points by cell, and in all."""
        with nbgrader.opened(f"sqlite:///{self.root / 'gradebook.db'}") as gradebook:
            return {
                found.student.id: {
                    grade.name: (grade.auto_score, grade.extra_credit, grade.manual_score, grade.score)
                    for notebook in found.notebooks
                    for grade in notebook.grades
                }
                for found in gradebook.assignment_submissions(nbgrader.NAME)
            }


@pytest.fixture(scope="module")
def graded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[NbgraderCourse]:
    """The class, handed out, handed in and graded."""
    root = tmp_path_factory.mktemp("course")
    nbgrader_course.make(root)
    course = NbgraderCourse(root)
    course.run("generate_assignment", nbgrader.NAME)
    release = json.loads((root / "release" / nbgrader.NAME / f"{nbgrader.NAME}.ipynb").read_text())
    assert "BEGIN SOLUTION" not in json.dumps(release)
    for name, bank in CLASS.items():
        files = bank_file.load(BANK / f"{bank}.py").files if bank else dict(REFERENCE)
        gpt = "\n".join(files.get(file, b"").decode() for file in ("head.py", "gpt.py"))
        gpt += KILLED if name == "killer" else ""
        cells = written(release, gpt, files["paper.py"].decode())
        cells = {"forger": forge, "deleter": delete}.get(name, list)(cells)
        folder = root / "submitted" / name / nbgrader.NAME
        folder.mkdir(parents=True)
        (folder / f"{nbgrader.NAME}.ipynb").write_text(json.dumps(release | {"cells": cells}))
    (root / "submitted" / "nobody" / nbgrader.NAME).mkdir(parents=True)
    (root / "submitted" / "nobody" / nbgrader.NAME / f"{nbgrader.NAME}.ipynb").write_text("{")
    course.said = course.run("autograde", nbgrader.NAME, status=1)  # for the notebook that is none
    yield course
    shutil.rmtree(root)


def test_nbgraders_score_is_the_graders_and_none_is_lost(graded: NbgraderCourse) -> None:
    scores = graded.scores()
    for name, bank in CLASS.items():
        if name == "killer":
            continue
        points = expected(bank) if bank else {row.id: row.points for row in ROWS.criteria}
        cells = {
            cell.removeprefix("check-"): found for cell, found in scores[name].items() if cell.startswith("check-")
        }
        assert {cell: found[0] for cell, found in cells.items()} == points | {"bonus": 0}, name
        assert sum(found[3] for found in cells.values()) == min(ROWS.total, sum(points.values())), name
    dead = {name: cell[0] for name, cell in scores["killer"].items() if name.startswith("check-")}
    assert (dead["check-mlp"], dead["check-attention"], dead["check-paper"]) == (0, 14, 5)
    assert "There was an error processing assignment 'step-05' for student 'nobody'" in graded.said
    assert graded.said.count("for student '") == 1


def test_bonus_points_are_extra_credit_and_never_lift_above_the_total(graded: NbgraderCourse) -> None:
    found = {name: cells["check-bonus"][1] for name, cells in graded.scores().items()}
    strict = expected("mistakes/attention_mask_strict")["bonus"]
    assert strict > 0
    assert (found["reference"], found["stub"], found["relu"], found["strict"]) == (0, 0, 2, strict)


def test_reasons_are_in_the_feedback(graded: NbgraderCourse) -> None:
    graded.run("generate_feedback", nbgrader.NAME)
    page = (graded.root / "feedback" / "relu" / nbgrader.NAME / f"{nbgrader.NAME}.html").read_text()
    assert "The activation is ReLU; it should be GELU." in page
    assert 'class="heat"' in page
    assert not list(graded.root.glob("feedback/*/*/autograder"))


def test_the_export_has_everyone_with_their_score(graded: NbgraderCourse) -> None:
    graded.run("export", "--to", "grades.csv")
    rows = {row["student_id"]: row for row in csv.DictReader((graded.root / "grades.csv").open())}
    assert float(rows["strict"]["score"]) == sum(expected("mistakes/attention_mask_strict").values())
    assert {float(row["max_score"]) for row in rows.values()} == {100.0 + WRITTEN}
    assert [name for name, row in rows.items() if row["score"] == ""] == ["nobody"]  # not graded is no zero
    assert float(rows["stub"]["score"]) == 0


def test_scores_after_a_regrade_go_into_the_gradebook_and_manual_ones_stay(
    graded: NbgraderCourse, tmp_path: Path
) -> None:
    target = tmp_path / "gradebook.db"
    shutil.copy(graded.root / "gradebook.db", target)
    with nbgrader.opened(f"sqlite:///{target}") as gradebook:
        place = (nbgrader.NAME, nbgrader.NAME, "relu")
        gradebook.find_grade("written-2", *place).manual_score = 3.0
        gradebook.find_grade("check-mlp", *place).manual_score = 6.0
    with nbgrader.opened(f"sqlite:///{target}") as gradebook:
        points = {row.id: float(row.points) for row in ROWS.criteria if not row.bonus} | {"mlp": 1.0}
        nbgrader.enter(gradebook, "relu", 97.0, points)
    with nbgrader.opened(f"sqlite:///{target}") as gradebook:
        mlp = gradebook.find_grade("check-mlp", *place)
        assert (mlp.auto_score, mlp.manual_score, mlp.score, mlp.needs_manual_grade) == (1.0, 6.0, 6.0, True)
        assert gradebook.find_grade("written-2", *place).manual_score == 3.0
        assert gradebook.find_grade("check-bonus", *place).extra_credit == 3.0


def resources(course: NbgraderCourse, student: str) -> dict[str, Any]:
    facts = {"assignment": nbgrader.NAME, "notebook": nbgrader.NAME, "student": student}
    url = f"sqlite:///{course.root / 'gradebook.db'}"
    path = course.root / "submitted" / student / nbgrader.NAME
    return {"nbgrader": facts | {"db_url": url}, "metadata": {"path": str(path)}}


def test_a_fault_of_the_grader_is_no_score(graded: NbgraderCourse, monkeypatch: pytest.MonkeyPatch) -> None:
    import nbformat

    def fails(*_: object) -> None:
        raise RuntimeError("the grader on the worker failed: no memory")

    monkeypatch.setattr(nbgrader_autograde, "run_chunk", fails)
    monkeypatch.setattr(nbgrader_autograde, "_known", {})
    facts = resources(graded, "relu")
    before = graded.scores()["relu"]
    notebook = nbformat.read(Path(facts["metadata"]["path"]) / f"{nbgrader.NAME}.ipynb", 4)
    with pytest.raises(RuntimeError, match="no memory"):
        nbgrader_autograde.Grade().preprocess(notebook, facts)
    assert graded.scores()["relu"] == before


def test_no_option_lets_saved_outputs_be_the_score() -> None:
    from traitlets.config import Config

    assert nbgrader_autograde.Grade(config=Config({"Execute": {"enabled": False}})).enabled
    steps = nbgrader_autograde.preprocessors()
    assert nbgrader_autograde.Grade in steps
    assert nbgrader_autograde.Execute not in steps


def test_points_that_are_not_the_rubrics_are_refused(graded: NbgraderCourse) -> None:
    with pytest.raises(nbgrader.BadInput, match="check-mlp: 3 points in nbgrader, 7 in the rubric"):
        nbgrader.agree({"mlp": 3}, {"mlp": 7})
    nbgrader.agree({"bonus": 0}, {})
