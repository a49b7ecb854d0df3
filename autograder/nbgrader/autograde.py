"""Replace Execute in ``nbgrader autograde``: no kernel is started, and no output saved by a student counts.

The submission is graded as usual, in the sandbox and in its own process. The cells ``check-<criterion>`` then get plain
numbers as outputs, from which nbgrader reads scores. If the grader itself fails, nbgrader reports it, records no score
and continues with the next student.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from nbformat import NotebookNode
from nbformat.v4 import new_output
from nbgrader.converters import Autograde
from nbgrader.preprocessors import DeduplicateIds, Execute, NbGraderPreprocessor
from traitlets import Bool, Unicode

from autograder.core import assignment as assignments
from autograder.core.assignment import DEFAULT, NOTEBOOK, Assignment
from autograder.core.errors import BadInput
from autograder.course.intake.collect import archive_sources, read_attempt
from autograder.course.intake.downloads import Attempt
from autograder.course.intake.export_files import list_entries
from autograder.course.runs.dask_pool import CHUNK, run_chunk
from autograder.course.runs.local_pool import GradeResult, RunConfig
from autograder.grading import rubric, secret
from autograder.grading.report import Report, select_criterion
from autograder.nbgrader.gradebook import CELL, SECRET, enter_scores, list_cells, open_gradebook, require_same_points
from autograder.render import html
from autograder.submission import notebook
from autograder.submission.archive import BadSubmission
from autograder.submission.read import Submission, make_submission


class NotGraded(Exception):
    """The grader failed or refused, so the submission has no score."""


class _Step(NbGraderPreprocessor):  # type: ignore[misc]
    """A step that knows the assignment, which nbgrader_config.py can set."""

    package = Unicode(DEFAULT, help="the importable name of the assignment's package").tag(config=True)

    @property
    def _assignment(self) -> Assignment:
        return assignments.load(self.package)


class Restore(_Step):
    """Refuse unsafe submissions and restore each cell's original metadata.

    A copied cell or edited metadata makes nbgrader fail, sometimes for this student, sometimes for all later ones.
    """

    def preprocess(self, nb: NotebookNode, resources: dict[str, Any]) -> tuple[NotebookNode, dict[str, Any]]:
        """Restore nbgrader's metadata from the gradebook; the last copy of a cell counts, as in nbgrader."""
        facts = resources["nbgrader"]
        _read_submission(_find_folder(self, facts["student"], facts["assignment"]), facts["notebook"], self._assignment)
        with open_gradebook(facts["db_url"]) as gradebook:
            given = _list_metadata(gradebook.find_notebook(facts["notebook"], facts["assignment"]))
        for cell in reversed(nb.cells):
            found = cell.metadata.pop("nbgrader", None)
            name = str(found.get("grade_id")) if isinstance(found, dict) else ""
            right = given.pop(name, None)
            if right is not None:
                cell.metadata["nbgrader"] = right
            if found != right:
                self.log.warning("%s: cell %s was copied or its metadata edited; restored", facts["student"], name)
        return nb, resources


class Grade(_Step, Execute):  # type: ignore[misc]
    """Grade notebooks that have cells of the rubric; refuse others, since nbgrader would execute them."""

    enabled = Bool(True)  # not a setting: with --no-execute, outputs saved by a student would be the score

    def preprocess(self, nb: NotebookNode, resources: dict[str, Any]) -> tuple[NotebookNode, dict[str, Any]]:
        """Write points and reasons to the outputs of ``nb``, and the bonus to the gradebook."""
        facts = resources["nbgrader"]
        place = {name: facts[name] for name in ("assignment", "notebook")}
        with open_gradebook(facts["db_url"]) as gradebook:
            there = list_cells(gradebook, **place)
        if not there:
            raise NotGraded(
                f"{facts['notebook']}: it has no {CELL}... cells, so it is refused and never executed; keep"
                " other assignments in a separate course folder"
            )
        rows = rubric.load(self._assignment)
        require_same_points(there, {row.id: 0 if row.bonus else row.points for row in rows.criteria})
        cells = notebook.read(json.dumps(nb).encode())
        folder = _find_folder(self, facts["student"], facts["assignment"])
        read = _read_submission(folder, facts["notebook"], self._assignment)
        report = self._get_report(_replace_notebook(cells, read, self._assignment), facts)
        points = {row.id: sum(check.score for check in report.of(row.id)) for row in report.criteria if not row.bonus}
        for cell in nb.cells:
            if cell.cell_type == "code":
                cell.outputs = list(_make_outputs(cell, report, points))
        with open_gradebook(facts["db_url"]) as gradebook:
            enter_scores(gradebook, facts["student"], report.score + report.bonus, points, **place)
        return nb, resources

    def _get_report(self, handed_in: Submission, facts: dict[str, Any]) -> Report:
        """Return the report from this process's cache, or grade now, together with the next submissions."""
        if handed_in.sha256 not in _known:
            together = [handed_in, *(one for one in self._read_next(facts) if one.sha256 not in _known)]
            drawn = secret.read_or_create(Path(_get_converter(self).coursedir.root) / SECRET)
            config = RunConfig(self._assignment, rubric.load(self._assignment), drawn)
            try:
                _grade(together[:CHUNK], config)
            except RuntimeError:
                _grade([handed_in], config)  # one of the others may have failed
        graded = _known[handed_in.sha256]
        report = Report.model_validate_json(graded.document) if graded.document else None
        if report is None or not report.gradable:
            del _known[handed_in.sha256]
            failed = [check.id for check in report.checks if check.status == "error"] if report is not None else []
            reason = graded.trouble or f"the grader failed at {', '.join(failed)}"
            raise NotGraded(f"{facts['student']}: {reason}; autograde it again to get a score")
        return report

    def _read_next(self, facts: dict[str, Any]) -> list[Submission]:
        """Return the submissions after this student's, so that torch is loaded once for several."""
        found = list[Submission]()
        for folder in map(Path, sorted(getattr(_get_converter(self), "assignments", ()))):
            if folder.parent.name > facts["student"] and len(found) < CHUNK:
                try:
                    found.append(_read_submission(folder, facts["notebook"], self._assignment))
                except NotGraded:  # reported at the student's own turn
                    continue
        return found


_known: dict[str, GradeResult] = {}  # reports by hash of the sources


def _grade(submissions: list[Submission], config: RunConfig) -> None:
    """Grade in one process. Raises RuntimeError if that fails."""
    sources = [(one.sha256, archive_sources(one)) for one in submissions]
    _known.update((one.sha256, one) for one in run_chunk(sources, config))


def _get_converter(step: NbGraderPreprocessor) -> Autograde:
    """Return the nbgrader command that ``step`` belongs to."""
    return step.parent.parent


def _find_folder(step: NbGraderPreprocessor, student: str, assignment: str) -> Path:
    """Return the folder of a submission; nbgrader's own copy replaces links with their contents."""
    course = _get_converter(step).coursedir
    return Path(course.format_path(course.submitted_directory, student, assignment))


def _read_submission(folder: Path, name: str, assignment: Assignment) -> Submission:
    """Read the notebook called ``name`` and the Python files beside it by the rules for every submission.

    Raises NotGraded, also for any link: nbgrader follows links when copying, and releases the copies.
    """
    links = [path for path in (folder.parent, folder) if path.is_symlink()]
    links += [path for path in folder.rglob("*") if path.is_symlink()]
    if links:
        raise NotGraded(f"{links[0]}: a link, which is not followed; ask for the file itself")
    try:
        files = [entry for entry in list_entries(folder) if len(entry.parts) == 1]
        # The main file and other notebooks would be separate submissions.
        mine = [
            entry
            for entry in files
            if entry.name == f"{name}.ipynb"
            or (entry.suffix == ".py" and entry.name.lower() != assignment.contract.file)
        ]
        return read_attempt(Attempt((), tuple(mine), is_single=True), assignment)
    except (BadInput, BadSubmission) as error:
        raise NotGraded(f"{folder}: {error}") from None


def _replace_notebook(cells: list[str], read: Submission, assignment: Assignment) -> Submission:
    """Return ``read`` with the notebook's cells after nbgrader's cleaning."""
    files = {file: read.files[file] for file in read.names}
    return make_submission(files | {NOTEBOOK: notebook.write(cells)}, assignment)


def _make_outputs(cell: NotebookNode, report: Report, points: dict[str, float]) -> list[NotebookNode]:
    """Return the outputs of a cell: points and reasons of one criterion, or of all for ``check()``."""
    name = str(cell.metadata.get("nbgrader", {}).get("grade_id", ""))
    criterion = name.removeprefix(CELL)
    if name.startswith(CELL) and any(row.id == criterion for row in report.criteria):
        # The bonus cell is worth no points: the bonus is extra credit.
        data = {
            "text/plain": f"{points.get(criterion, 0.0):g}",
            "text/html": html.render_fragment(select_criterion(report, criterion)),
        }
    elif cell.source.rstrip().endswith("check()"):
        data = {"text/plain": f"{report.score:g}", "text/html": html.render_fragment(report)}
    else:
        return []
    return [new_output("execute_result", data=data, execution_count=1)]


def _list_metadata(handed_out: Any) -> dict[str, dict[str, Any]]:
    """Return nbgrader's metadata by cell."""
    points = {cell.name: cell.max_score for cell in handed_out.grade_cells}
    solutions = {cell.name for cell in handed_out.solution_cells}
    return {
        cell.name: {
            "schema_version": 3,
            "grade_id": cell.name,
            "grade": cell.name in points,
            "solution": cell.name in solutions,
            "locked": cell.locked,
            "task": False,
            "cell_type": cell.cell_type,
            "checksum": cell.checksum,
        }
        | ({"points": points[cell.name]} if cell.name in points else {})
        for cell in handed_out.source_cells
    }


def sanitizers() -> list[Any]:
    """Return the steps with which `nbgrader autograde` cleans a notebook, with Restore instead of DeduplicateIds."""
    default = Autograde.class_traits()["sanitize_preprocessors"].default()
    return [Restore if step is DeduplicateIds else step for step in default]


def preprocessors() -> list[Any]:
    """Return the steps of `nbgrader autograde` after cleaning a notebook, with Grade instead of Execute."""
    default = Autograde.class_traits()["autograde_preprocessors"].default()
    return [Grade if step is Execute else step for step in default]
