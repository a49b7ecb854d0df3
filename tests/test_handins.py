"""`grade` and `regrade` decide alike what people hand in: the same files are graded, or the same reason is given."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest
from typer.testing import CliRunner

from autograder.assignment import ASSIGNMENT
from autograder.cli import app
from autograder.core.errors import BadInput
from autograder.course.intake import collect
from autograder.course.intake.identity import Person
from autograder.submission.archive import BadSubmission
from autograder.submission.read import read_submission
from tests import handin_file
from tests.bank_file import REFERENCE
from tests.course_kit import Course
from tests.handin_file import HANDINS, HandIn

LAYOUTS = {"plain": "{}", "moodle": "{}_4711_assignsubmission_file_"}


def decide_alone(path: Path) -> tuple[str, str]:
    """The hash of what `grade` grades, or its reason without the path."""
    try:
        return read_submission(path, ASSIGNMENT).sha256, ""
    except BadSubmission as error:
        line = str(error)
        assert line.isprintable()
        assert line.startswith(str(path))
        return "", line.replace(f"{path}/", "").removeprefix(f"{path}: ")


def decide_in_export(export: Path, store: Path) -> tuple[str, str]:
    """The hash of what `regrade` grades of Jane's, or its reason."""
    names: list[str] = []

    def identify(people: Sequence[Person]) -> list[int]:
        names.extend(person.name.partition(".")[0] for person in people)
        return list(range(len(people)))

    store.mkdir()
    attempts = {names[one.student]: one for one in collect.collect_attempts([export], store, identify, ASSIGNMENT)}
    assert set(attempts) == {"Jane", "Zoe"}
    return attempts["Jane"].sha256, attempts["Jane"].trouble


def make_export(entry: HandIn, folder: Path, layout: str) -> tuple[Path, Path]:
    """A course's folder and the same as a zip file."""
    (folder / layout.format("Zoe")).mkdir(parents=True)
    (folder / layout.format("Zoe") / "gpt.py").write_text("class GPT: ...\n")
    entry.write(folder, layout.format("Jane"))
    files = {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    zipped = folder.with_suffix(".zip")
    zipped.write_bytes(handin_file.zip_files(files))
    return folder, zipped


@pytest.mark.parametrize("path", HANDINS, ids=lambda path: path.stem)
def test_grade_and_regrade_decide_alike(path: Path, tmp_path: Path) -> None:
    entry = handin_file.load(path)
    handed_in = entry.write(tmp_path, "Jane")
    sha256, reason = decide_alone(handed_in)
    for layout in LAYOUTS if entry.form == "folder" else ["plain"]:
        for export in make_export(entry, tmp_path / layout, LAYOUTS[layout]):
            assert decide_in_export(export, tmp_path / f"store of {export.name}") == (sha256, reason)
    assert bool(entry.says) == bool(reason), reason
    for words in entry.says:
        assert words in reason
    if entry.says:
        assert len(reason.rpartition("; ")[2].split()) >= 2  # a remedy
        return
    files = read_submission(handed_in, ASSIGNMENT).files
    if entry.like:
        assert files == {name: REFERENCE[name] for name in ("gpt.py", "paper.py")} | {"head.py": handin_file.HEAD}
    else:
        assert sorted({*files} - ({"head.py"} - {*entry.graded})) == entry.graded


def test_a_reason_is_no_score_in_either_command(course: Course, tmp_path: Path) -> None:
    for path in HANDINS:
        entry = handin_file.load(path)
        if entry.says:
            entry.write(course.source, path.stem)
    (course.source / "zoe").mkdir()
    (course.source / "zoe" / "gpt.py").write_text("class GPT: ...\n")
    course.regrade()
    scores = course.scores()
    assert scores.pop("zoe") == 100
    assert set(scores.values()) == {None}
    assert len(scores) == sum(bool(handin_file.load(path).says) for path in HANDINS)
    said = course.said()
    for name in ("paper_alone", "single_paper"):
        (path,) = course.source.glob(f"{name}*")
        done = CliRunner().invoke(app, ["grade", str(path)])
        assert isinstance(done.exception, BadInput)
        assert str(done.exception).removeprefix(f"{path}: ") in said
