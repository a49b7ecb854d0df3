"""Run nbgrader's own commands on a course folder from `make nbgrader-course`: its scores are the grader's."""

from __future__ import annotations

import csv
import json
import multiprocessing
import os
import shutil
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from autograder.assignment import ASSIGNMENT
from autograder.grading import rubric
from tests import bank_file
from tests.bank_file import BANK, REFERENCE
from tests.notebooks import FROM_HEAD, FROM_PAPER, code

pytest.importorskip("nbgrader")
pytest.importorskip("jupytext")

from autograder.nbgrader import autograde
from autograder.nbgrader.course import create_course
from autograder.nbgrader.gradebook import NAME, BadInput, enter_scores, open_gradebook, require_same_points

ROWS = rubric.load(ASSIGNMENT)
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
    "flipper": "broken/stub",
    "copier": "broken/stub",
}
FETCHED = "relu"  # the student who fetches and submits through the exchange
EXCHANGE = """
c.Exchange.root = {root!r}
c.Exchange.cache = {cache!r}
c.CourseDirectory.course_id = "gpt"
"""
# nbgrader takes seconds to import, so one import serves all commands, each of which runs in a fork.
COMMANDS = multiprocessing.get_context("forkserver")
COMMANDS.set_forkserver_preload(["nbgrader.apps.nbgraderapp"])


def expected(name: str) -> dict[str, float]:
    """Return the points by criterion in the bank, which test_bank.py compares with `grade`."""
    entry = bank_file.load(BANK / f"{name}.py")
    lost = entry.loses | entry.bonus
    return {
        row.id: sum(SHARE.get(lost.get(check.id, "passed"), 0.0) * check.points for check in row.checks)
        for row in ROWS.criteria
    }


def written(release: dict[str, Any], gpt: str, paper: str) -> list[dict[str, Any]]:
    """Return the released notebook's cells, with a student's code in the answer cells."""
    cells = json.loads(json.dumps(release["cells"]))
    for cell in cells:
        facts = cell["metadata"].get("nbgrader", {})
        if cell["cell_type"] == "code" and facts.get("solution"):
            first = {"MultiHeadAttention": FROM_HEAD.sub("", gpt), "parameter_count": paper}
            cell["source"] = first.get(facts["grade_id"], "# above")
    return cells


def forge(cells: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Fake outputs that give full marks in plain nbgrader."""
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
    """Remove the cells that ask for points."""
    return [c for c in cells if not c["metadata"].get("nbgrader", {}).get("grade_id", "").startswith("check-")]


def flip(cells: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Mark the cells that ask for points as the student's own; nbgrader refuses such a notebook."""
    for cell in cells:
        if cell["metadata"].get("nbgrader", {}).get("grade_id", "").startswith("check-"):
            cell["metadata"]["nbgrader"] |= {"solution": True, "locked": False, "grade": False}
    return cells


def copy(cells: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Duplicate each cell, as Jupyter does; plain nbgrader then stops, for all later students too."""
    return [json.loads(json.dumps(cell)) for cell in cells for _ in range(2)]


def main(where: Path, said: Path, command: tuple[str, ...]) -> None:
    """Do what the program `nbgrader` does in a folder, whose settings lead it to the autograder."""
    from nbgrader.apps import nbgraderapp

    sys.path[:] = [entry for entry in sys.path if Path(entry or ".").resolve() != bank_file.ROOT]
    for name in [name for name in sys.modules if name.partition(".")[0] == "autograder"]:
        del sys.modules[name]
    os.chdir(where)
    with said.open("w") as file:
        os.dup2(file.fileno(), 1)
        os.dup2(file.fileno(), 2)
    sys.argv = ["nbgrader", *command]
    nbgraderapp.main()


def run(where: Path, *command: str, status: int = 0) -> str:
    """Run a command of nbgrader in a folder; return its output."""
    said = where / "said.txt"
    process = COMMANDS.Process(target=main, args=(where, said, command))
    process.start()
    process.join()
    assert process.exitcode == status, said.read_text()
    return said.read_text()


def size(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


@dataclass
class NbgraderCourse:
    """A course folder, the commands' output, and the folder of a student who uses the exchange."""

    root: Path
    home: Path
    said: str = ""

    def scores(self) -> dict[str, Any]:
        """Return the points by cell and in total, by student."""
        with open_gradebook(f"sqlite:///{self.root / 'gradebook.db'}") as gradebook:
            return {
                found.student.id: {
                    grade.name: (grade.auto_score, grade.extra_credit, grade.manual_score, grade.score)
                    for notebook in found.notebooks
                    for grade in notebook.grades
                }
                for found in gradebook.assignment_submissions(NAME)
            }


@pytest.fixture(scope="module")
def graded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[NbgraderCourse]:
    """Return a course that was released, submitted and graded."""
    top = tmp_path_factory.mktemp("nbgrader")
    course = NbgraderCourse(top / "course", top / "home")
    course.home.mkdir()
    create_course(course.root, ASSIGNMENT)
    exchange = EXCHANGE.format(root=str(top / "exchange"), cache=str(top / "cache"))
    (course.home / "nbgrader_config.py").write_text(f"c = get_config(){exchange}")
    with (course.root / "nbgrader_config.py").open("a") as file:
        file.write(exchange)
    run(course.root, "generate_assignment", NAME)
    run(course.root, "release_assignment", NAME)
    run(course.home, "fetch_assignment", NAME)
    fetched = course.home / NAME / f"{NAME}.ipynb"
    release = json.loads(fetched.read_text())
    assert "BEGIN SOLUTION" not in json.dumps(release)
    for name, bank in CLASS.items():
        files = bank_file.load(BANK / f"{bank}.py").files if bank else dict(REFERENCE)
        gpt = "\n".join(files.get(file, b"").decode() for file in ("head.py", "gpt.py"))
        gpt += KILLED if name == "killer" else ""
        paper = files["paper.py"].decode() + FROM_PAPER.sub("", files["verify.py"].decode())
        cells = written(release, gpt, paper)
        cells = {"forger": forge, "deleter": delete, "flipper": flip, "copier": copy}.get(name, list)(cells)
        notebook = course.root / "submitted" / name / NAME / f"{NAME}.ipynb"
        if name == FETCHED:
            notebook = fetched
        notebook.parent.mkdir(parents=True, exist_ok=True)
        notebook.write_text(json.dumps(release | {"cells": cells}))
    run(course.home, "submit", NAME, f"--student={FETCHED}")
    run(course.root, "collect", NAME)
    (course.root / "submitted" / "nobody" / NAME).mkdir(parents=True)
    (course.root / "submitted" / "nobody" / NAME / f"{NAME}.ipynb").write_text("{")
    course.said = run(course.root, "autograde", NAME, status=1)  # for the file that is not a notebook
    yield course
    shutil.rmtree(top)


def test_the_exchange_gives_out_the_grader_and_collects_only_the_work(graded: NbgraderCourse) -> None:
    given = graded.home / NAME
    assert (given / "autograder" / "__main__.py").is_file()
    package = [path.read_bytes() for path in given.rglob("autograder/**/*") if path.is_file()]
    assert not [text for text in package if b"# BEGIN SOLUTION" in text]
    collected = graded.root / "submitted" / FETCHED / NAME
    assert {path.name for path in collected.iterdir()} == {
        f"{NAME}.ipynb",
        "timestamp.txt",
        "submission_secret.txt",
    }
    assert size(collected) < 150_000 < size(given)
    assert not list(graded.root.glob("autograded/*/*/autograder"))
    assert "__main__.py" not in graded.said  # nor is the package listed file by file for each student


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
        assert sum(found[3] for found in cells.values()) == sum(points.values()), name
    dead = {name: cell[0] for name, cell in scores["killer"].items() if name.startswith("check-")}
    assert (dead["check-mlp"], dead["check-attention"], dead["check-paper"]) == (0, 14, 5)
    assert "There was an error processing assignment 'step-05' for student 'nobody'" in graded.said
    assert graded.said.count("for student '") == 1
    assert graded.said.count("copier: cell check-mlp was copied or its metadata edited; restored") == 1
    assert {line.split()[3] for line in graded.said.splitlines() if "; restored" in line} == {
        *("copier:", "flipper:", "forger:")
    }


def test_bonus_points_are_extra_credit(graded: NbgraderCourse) -> None:
    found = {name: cells["check-bonus"][1] for name, cells in graded.scores().items()}
    strict = expected("mistakes/attention_mask_strict")["bonus"]
    assert strict > 0
    assert (found["reference"], found["stub"], found["relu"], found["strict"]) == (6, 0, 6, strict)


def test_reasons_are_in_the_feedback(graded: NbgraderCourse) -> None:
    run(graded.root, "generate_feedback", NAME)
    run(graded.root, "release_feedback", NAME, f"--student={FETCHED}")  # the others came by hand
    run(graded.home, "fetch_feedback", NAME, f"--student={FETCHED}")
    (page,) = (graded.home / NAME / "feedback").glob(f"*/{NAME}.html")
    assert "The activation is ReLU; it should be GELU." in page.read_text()
    assert 'class="heat"' in page.read_text()


def test_the_export_has_everyone_with_their_score(graded: NbgraderCourse) -> None:
    run(graded.root, "export", "--to", "grades.csv")
    rows = {row["student_id"]: row for row in csv.DictReader((graded.root / "grades.csv").open())}
    assert float(rows["strict"]["score"]) == sum(expected("mistakes/attention_mask_strict").values())
    assert {float(row["max_score"]) for row in rows.values()} == {100.0 + WRITTEN}
    assert [name for name, row in rows.items() if row["score"] == ""] == ["nobody"]  # an ungraded student has no zero
    assert float(rows["stub"]["score"]) == 0


def test_scores_after_a_regrade_go_into_the_gradebook_and_manual_ones_stay(
    graded: NbgraderCourse, tmp_path: Path
) -> None:
    target = tmp_path / "gradebook.db"
    shutil.copy(graded.root / "gradebook.db", target)
    with open_gradebook(f"sqlite:///{target}") as gradebook:
        place = (NAME, NAME, "relu")
        gradebook.find_grade("written-2", *place).manual_score = 3.0
        gradebook.find_grade("check-mlp", *place).manual_score = 6.0
    with open_gradebook(f"sqlite:///{target}") as gradebook:
        points = {row.id: float(row.points) for row in ROWS.criteria if not row.bonus} | {"mlp": 1.0}
        enter_scores(gradebook, "relu", 97.0, points)
    with open_gradebook(f"sqlite:///{target}") as gradebook:
        mlp = gradebook.find_grade("check-mlp", *place)
        assert (mlp.auto_score, mlp.manual_score, mlp.score, mlp.needs_manual_grade) == (1.0, 6.0, 6.0, True)
        assert gradebook.find_grade("written-2", *place).manual_score == 3.0
        assert gradebook.find_grade("check-bonus", *place).extra_credit == 3.0


def resources(course: NbgraderCourse, student: str) -> dict[str, Any]:
    facts = {"assignment": NAME, "notebook": NAME, "student": student}
    url = f"sqlite:///{course.root / 'gradebook.db'}"
    path = course.root / "submitted" / student / NAME
    return {"nbgrader": facts | {"db_url": url}, "metadata": {"path": str(path)}}


def step(course: NbgraderCourse) -> autograde.Grade:
    """Return the grading step as part of nbgrader's command."""
    from nbconvert.exporters import NotebookExporter
    from nbgrader.converters import Autograde
    from nbgrader.coursedir import CourseDirectory

    command = Autograde(coursedir=CourseDirectory(root=str(course.root)))
    return autograde.Grade(parent=NotebookExporter(parent=command))


def test_a_fault_of_the_grader_is_no_score(graded: NbgraderCourse, monkeypatch: pytest.MonkeyPatch) -> None:
    import nbformat

    def fails(*_: object) -> None:
        raise RuntimeError("the grader on the worker failed: no memory")

    monkeypatch.setattr(autograde, "run_chunk", fails)
    monkeypatch.setattr(autograde, "_known", {})
    facts = resources(graded, "relu")
    before = graded.scores()["relu"]
    notebook = nbformat.read(Path(facts["metadata"]["path"]) / f"{NAME}.ipynb", 4)
    with pytest.raises(RuntimeError, match="no memory"):
        step(graded).preprocess(notebook, facts)
    assert graded.scores()["relu"] == before


def test_no_option_lets_saved_outputs_be_the_score() -> None:
    from traitlets.config import Config

    assert autograde.Grade(config=Config({"Execute": {"enabled": False}})).enabled
    steps = autograde.preprocessors()
    assert autograde.Grade in steps
    assert autograde.Execute not in steps


def test_points_that_are_not_the_rubrics_are_refused(graded: NbgraderCourse) -> None:
    with pytest.raises(BadInput, match="check-mlp: 3 points in nbgrader, 7 in the rubric"):
        require_same_points({"mlp": 3}, {"mlp": 7})
    require_same_points({"bonus": 0}, {})


LINKS = {
    "help.py": "../../../source/step-05/step-05.ipynb",
    "step-05.ipynb": "../../../source/step-05/step-05.ipynb",
    "sub/.data": "../../../../gradebook.db",
    "": "../../source/step-05",
}


@pytest.mark.parametrize("name", LINKS)
def test_what_a_link_leads_to_is_neither_graded_nor_kept(graded: NbgraderCourse, name: str) -> None:
    folder = graded.root / "submitted" / "linker" / NAME
    shutil.copytree(graded.root / "submitted" / "stub" / NAME, folder)
    place = folder / name
    place.parent.mkdir(exist_ok=True)
    if place == folder:
        shutil.rmtree(folder)
    place.unlink(missing_ok=True)
    place.symlink_to(LINKS[name])
    assert place.exists()
    try:
        said = run(graded.root, "autograde", NAME, "--student=linker", status=1)
        assert "a link, which is not followed; ask for the file itself" in said
        assert not (graded.root / "autograded" / "linker" / NAME).exists()
        assert {cell[0] for cell in graded.scores()["linker"].values()} == {None}
    finally:
        folder.unlink() if folder.is_symlink() else shutil.rmtree(folder)


def test_files_beside_a_notebook_have_the_limits_of_every_submission(graded: NbgraderCourse, tmp_path: Path) -> None:
    folder = tmp_path / "submitted" / "eve" / NAME
    shutil.copytree(graded.root / "submitted" / "relu" / NAME, folder)
    (folder / "helper.py").write_text("x = 1\n")
    (folder / "gpt.py").write_text("another submission\n")
    assert set(autograde._read_submission(folder, NAME, ASSIGNMENT).names) == {"helper.py", "notebook.ipynb"}
    (folder / "helper.py").write_text("x" * (1 << 20 | 1))
    with pytest.raises(autograde.NotGraded, match="larger than 1 MB"):
        autograde._read_submission(folder, NAME, ASSIGNMENT)
    for n in range(60):
        (folder / f"helper{n}.py").write_text("")
    (folder / "helper.py").unlink()
    with pytest.raises(autograde.NotGraded, match="at most 50 are allowed"):
        autograde._read_submission(folder, NAME, ASSIGNMENT)


def test_a_notebook_that_the_gradebook_does_not_know_is_never_executed(
    graded: NbgraderCourse, monkeypatch: pytest.MonkeyPatch
) -> None:
    facts = resources(graded, "relu")
    facts["nbgrader"]["notebook"] = "another"
    executed: list[object] = []
    monkeypatch.setattr(autograde.Execute, "preprocess", lambda *given: executed.append(given))
    with pytest.raises(autograde.NotGraded, match="never executed"):
        step(graded).preprocess(None, facts)
    assert executed == []


def test_the_course_has_a_secret_of_its_own_that_no_student_gets(graded: NbgraderCourse) -> None:
    path = graded.root / "secret"
    drawn = path.read_bytes().strip()
    assert (len(drawn), path.stat().st_mode & 0o777) == (64, 0o600)
    others = [*graded.root.glob("[!s]*/**/*"), *graded.home.rglob("*"), *graded.root.glob("s*/**/*")]
    assert not [file for file in others if file.is_file() and drawn in file.read_bytes()]


def test_no_cell_of_the_export_is_a_formula(graded: NbgraderCourse, tmp_path: Path) -> None:
    from autograder.nbgrader.export import Table

    target = tmp_path / "gradebook.db"
    shutil.copy(graded.root / "gradebook.db", target)
    with open_gradebook(f"sqlite:///{target}") as gradebook:
        gradebook.add_student("x;=1", first_name="=cmd|' /C calc'!A0", last_name="Doe, J.")
        table = Table()
        table.to = str(tmp_path / "grades.csv")
        table.export(gradebook)
    rows = {row["student_id"]: row for row in csv.DictReader((tmp_path / "grades.csv").open(newline=""))}
    assert rows["x;'=1"]["first_name"] == "'=cmd|' /C calc'!A0"
    assert rows["x;'=1"]["last_name"] == "Doe, J."


def test_a_submission_with_a_link_or_too_large_is_not_collected_and_the_others_are(tmp_path: Path) -> None:
    from nbgrader.coursedir import CourseDirectory

    from autograder.nbgrader.exchange import Collect

    (tmp_path / "solution.ipynb").write_text("the solution")
    for name in ("ann", "eve", "mallory", "big"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "step-05.ipynb").write_text("{}")
    (tmp_path / "eve" / "help.py").symlink_to(tmp_path / "solution.ipynb")
    (tmp_path / "mallory" / "help.py").symlink_to("nowhere")
    (tmp_path / "big" / "large").write_bytes(bytes(2000))
    (tmp_path / "whole").symlink_to(tmp_path / "ann")
    collect = Collect(coursedir=CourseDirectory(root=str(tmp_path), max_dir_size=1))
    for name in ("eve", "mallory", "big", "whole", "ann"):
        collect.do_copy(str(tmp_path / name), str(tmp_path / "submitted" / name))
    assert [path.name for path in (tmp_path / "submitted").iterdir()] == ["ann"]
