"""Test that no student's submission or name affects how others are graded."""

from __future__ import annotations

import io
import os
import shutil
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from autograder.assignment import ASSIGNMENT
from autograder.core import csv_sheet
from autograder.core.errors import BadInput
from autograder.course import commands
from autograder.course.gradebook.match_students import match_or_add_students, match_students
from autograder.course.gradebook.rescore import rescore
from autograder.course.gradebook.results import compute_results
from autograder.course.gradebook.store import Gradebook
from autograder.course.intake import downloads
from autograder.course.intake.identity import make_person
from autograder.course.output.grade_export import export_grades
from autograder.grading.report import Report
from autograder.submission import choose
from tests import course_kit
from tests.course_kit import Course, query

WRONG = "# lose causality.full_model lose causality.full_context lose model.loss\n"
SUFFIX = "assignsubmission_file_"


def hand(folder: Path, text: str = "", name: str = "gpt.py") -> Path:
    """Write a submission in ``folder``, different in each."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / name).write_text(f"{text}# {folder.name}\n")
    return folder


def gradescope(root: Path, names: list[str], facts: Callable[[int, str], dict[str, Any]] | None = None) -> Path:
    """Write an unpacked Gradescope export with a submission of each student."""
    facts = facts or (lambda n, name: {":name": name, ":sid": str(n), ":email": f"{n}@x.edu"})
    listed = {}
    for n, name in enumerate(names, 1001):
        hand(root / f"submission_{n}", f"# {name}\n")
        listed[f"submission_{n}"] = {":submitters": [facts(n, name)], ":created_at": "2026-01-01 00:00:00"}
    (root / downloads.METADATA).write_text(yaml.safe_dump(listed))
    return root


def zipped(folder: Path, around: str = "") -> Path:
    """Zip a folder, beside it."""
    path = folder.parent / f"{folder.name}.zip"
    with zipfile.ZipFile(path, "w") as archive:
        for file in sorted(folder.rglob("*")):
            archive.write(file, f"{around}{file.relative_to(folder)}")
    return path


def forms(folder: Path) -> list[Path]:
    """Yield an export as a folder, as a zip file, and as a zip file that contains the folder."""
    flat = zipped(folder)
    around = folder.parent / "again" / f"{folder.name}.zip"
    around.parent.mkdir()
    shutil.move(zipped(folder, f"{folder.name}/"), around)
    return [folder, zipped(folder) if not flat.exists() else flat, around]


# --- layouts ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("form", range(3))
def test_a_list_of_submissions_inside_a_submission_is_no_gradescope_export(course: Course, form: int) -> None:
    export = gradescope(course.source / "assignment_77_export", ["Ann", "Bob", "Eve"])
    eve = export / "submission_1003"
    gradescope(eve, ["Ann", "Bob", "Eve"])
    for n in (1001, 1002):
        hand(eve / f"submission_{n}", WRONG)
    course.regrade(forms(export)[form])
    assert course.scores() == {"Ann": 100.0, "Bob": 100.0, "Eve": None}
    assert "1 without a grade: it contains a submission_metadata.yml, which only Gradescope writes" in course.said()


def test_a_list_of_submissions_in_a_students_folder_decides_nothing(course: Course) -> None:
    for name in ("ann", "bob", "eve"):
        hand(course.source / name)
    gradescope(course.source / "eve", ["Ann", "Bob"])
    gradescope(course.source / "eve" / "assignment_77_export", ["Ann", "Bob"])
    course.regrade()
    assert course.scores() == {"ann": 100.0, "bob": 100.0, "eve": None}  # it is unknown which of several gpt.py counts


def test_two_exports_of_gradescope_at_once_are_refused_in_a_line(course: Course) -> None:
    for n in (1, 2):
        gradescope(course.source / f"assignment_{n}_export", ["Ann"])
    with pytest.raises(BadInput, match=r"2 files named submission_metadata\.yml; give one Gradescope"):
        course.regrade()


def test_a_renamed_export_of_gradescope_is_asked_for_by_name(course: Course) -> None:
    gradescope(course.source / "hw5", ["Ann"])
    with pytest.raises(BadInput, match="is in the folder hw5; if that is Gradescope's export, give that folder"):
        course.regrade()
    course.regrade(course.source / "hw5")
    assert course.scores() == {"Ann": 100.0}


@pytest.mark.parametrize("form", range(2))
def test_a_student_called_submitted_does_not_make_it_a_course_of_nbgrader(course: Course, form: int) -> None:
    for name in ("ann", "bob"):
        hand(course.source / "all" / name)
    hand(course.source / "all" / "submitted" / "ann" / "step-05", WRONG)
    hand(course.source / "all" / "submitted" / "bob" / "step-05", f"{WRONG}# bob\n")
    course.regrade(forms(course.source / "all")[form])
    assert course.scores() == {"ann": 100.0, "bob": 100.0, "submitted": None}


def test_one_deep_folder_does_not_make_it_nbgraders_submitted(course: Course) -> None:
    root = course.source / "submitted"
    for name in ("ann", "bob"):
        hand(root / name)
    hand(root / "eve" / "step-05")
    course.regrade(root)
    assert course.scores() == dict.fromkeys(("ann", "bob", "eve"), 100.0)
    assert downloads.read(root, ASSIGNMENT.contract)[0] == "folder"


def test_nobody_is_left_out_of_nbgraders_submitted(course: Course) -> None:
    root = course.source / "submitted"
    for name in ("ann", "bob"):
        hand(root / name / "step-05")
    hand(root / "eve")
    assert downloads.read(root, ASSIGNMENT.contract)[0] == "nbgrader"
    course.regrade(root)
    assert course.scores() == dict.fromkeys(("ann", "bob", "eve"), 100.0)


def test_a_course_folder_of_nbgrader_is_known_by_its_settings(course: Course) -> None:
    for name in ("source", "release", "feedback"):
        hand(course.source / name / "step-05")
    (course.source / "nbgrader_config.py").write_text("")
    hand(course.source / "submitted" / "ann" / "step-05")
    course.regrade()
    assert course.scores() == {"ann": 100.0}


def test_uploads_named_like_moodles_do_not_make_canvas_moodle(course: Course) -> None:
    for n, name in enumerate(("ann", "bob", "eve"), 71):
        hand(course.source, f"# {name}\n", f"{name}_{n}_90{n}_gpt.py")
    for n in range(20):
        hand(course.source, WRONG, f"eve_73_9073_x{n}_71_{SUFFIX}gpt.py")
    assert downloads.read(course.source, ASSIGNMENT.contract)[0] == "canvas"
    course.regrade()
    assert course.scores() == {"ann": 100.0, "bob": 100.0, "eve": 100.0}


def test_a_display_name_like_canvas_does_not_make_moodle_canvas(course: Course) -> None:
    for n, name in enumerate(("Ann", "Bob", "x_71_9_y")):
        hand(course.source / f"{name}_{n + 71}_{SUFFIX}")
    assert downloads.read(course.source, ASSIGNMENT.contract)[0] == "moodle"
    course.regrade()
    assert course.scores() == {"Ann": 100.0, "Bob": 100.0, "x_71_9_y": 100.0}


@pytest.mark.parametrize("form", range(2))
def test_the_only_student_of_moodle_may_have_a_folder_of_their_own(course: Course, form: int) -> None:
    hand(course.source / "submitted" / f"Ann_71_{SUFFIX}" / "work")
    course.regrade(forms(course.source / "submitted")[form])
    assert course.scores() == {"Ann": 100.0}


def test_an_export_of_gradescope_may_be_in_a_folder_called_submitted(course: Course) -> None:
    root = gradescope(course.source / "submitted", ["Ann", "Bob"])
    for n in (1001, 1002):
        (root / f"submission_{n}" / "gpt.py").unlink()
        hand(root / f"submission_{n}" / "work", f"# {n}\n")
    course.regrade(root)
    assert course.scores() == {"Ann": 100.0, "Bob": 100.0}


def test_folders_of_one_students_zip_are_not_students(course: Course) -> None:
    eve = course.source / "late"
    for name in ("ann", "bob"):
        hand(eve / name, WRONG)
    with pytest.raises(BadInput, match="everything is in one folder, 'eve'; unpack it"):
        course.regrade(zipped(eve, "eve/"))
    course.regrade(zipped(eve, "late/"))
    assert set(course.scores()) == {"ann", "bob"}


# --- who is who -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("flat", [False, True])
@pytest.mark.parametrize("between", ["_", ""])
def test_a_display_name_with_a_participants_number_is_not_that_participant(
    course: Course, flat: bool, between: str
) -> None:
    tops = [f"Victim Vale_4711_{SUFFIX}", f"x_4711_{SUFFIX[:-1]}{between}_9999_{SUFFIX}", f"Other_4712_{SUFFIX}"]
    for top, text in zip(tops, ("", WRONG, ""), strict=True):
        hand(course.source if flat else course.source / top, f"{text}# {top}\n", f"{top}gpt.py" if flat else "gpt.py")
    course.regrade()
    scores = course.scores()
    assert (scores.pop("Victim Vale"), scores.pop("Other")) == (100.0, 100.0)
    assert list(scores.values()) == [None]
    assert "its name has two participant numbers" in course.said()
    with course.book() as book:
        known = (
            "SELECT name FROM student JOIN identifier ON student.id = student WHERE kind = 'moodle' AND value = '4711'"
        )
        assert query(book, known) == [("Victim Vale",)]


def test_a_file_named_like_a_participants_is_not_theirs(course: Course) -> None:
    for name, n in (("Victim", 4711), ("Eve", 9999), ("Ann", 1)):
        hand(course.source, f"# {name}\n", f"{name}_{n}_{SUFFIX}gpt.py")
    hand(course.source, WRONG, f"Eve_9999_{SUFFIX}x_4711_{SUFFIX}gpt.py")
    course.regrade()
    scores = course.scores()
    assert (scores["Victim"], scores["Eve"], scores["Ann"], len(scores)) == (100.0, 100.0, 100.0, 4)


ALIKE = [
    ("Kim Lee", "Lee Kim"),
    ("José Ruiz", "Jose Ruiz"),
    ("Ann", "ann"),
    ("=1+1", "1 1"),
    ("=1+1", "Doe;=1+1"),
    ("a\x01", "a\x02"),
    ("Ann Lee", "Lee, Ann"),
    ("José", "Jose\u0301"),
    ("ﬁ", "fi"),
]


@pytest.mark.parametrize("names", ALIKE, ids=ascii)
@pytest.mark.parametrize("first", [0, 1])
def test_names_that_are_alike_are_of_two_students_in_every_run(
    course: Course, names: tuple[str, str], first: int
) -> None:
    hand(course.source / names[first])
    course.regrade()
    for name, text in zip(names, ("", WRONG), strict=True):
        hand(course.source / name, text)
    for _ in range(3):
        course.regrade()
        with course.book() as book:
            run = book.find_current_run()
            assert run is not None
            found = list(compute_results(book, run))
            assert {one.entry.attempt for one in found if one.entry} == {1}
            assert sorted(one.score for one in found if one.score is not None) == [90.0, 100.0]
            assert len(book.list_students()) == 2


def test_namesakes_without_a_number_in_gradescope_are_two(course: Course) -> None:
    gradescope(course.source, ["Kim Lee", "Kim Lee", "Lee Kim"], lambda _, name: {":name": name})
    for _ in range(2):
        course.regrade()
        with course.book() as book:
            assert len(book.list_students()) == 3
    assert "2 ambiguous by name, graded separately: Kim Lee; Lee Kim" in course.said()


def test_a_name_that_all_of_a_blind_export_have_is_said_once(course: Course) -> None:
    for n in (4711, 4712, 4713):
        hand(course.source / f"Participant_{n}_{SUFFIX}")
    course.regrade()
    assert "1 ambiguous by name, graded separately: Participant\n" in course.said()


def test_who_takes_the_name_of_someone_on_the_roster_is_said(course: Course, tmp_path: Path) -> None:
    roster = tmp_path / "roster.csv"
    roster.write_text("Name,Username\nAnn,ann\n")
    gradescope(course.source, ["Ann"])  # a different student with the same name
    course.regrade(roster=roster)
    gradescope(course.source, ["Ann", "Ann"])
    course.said()
    course.regrade(roster=roster)
    assert "1 ambiguous by name, graded separately: Ann" in course.said()


def test_who_shares_only_one_of_two_numbers_is_someone_else(course: Course) -> None:
    gradescope(course.source, ["Ann"])
    course.regrade()
    gradescope(course.source, ["Ann", "Eve"], lambda n, name: {":name": name, ":sid": "1001", ":email": f"{n}@x.edu"})
    course.regrade()
    assert set(course.scores()) == {"Ann", "Eve"}
    with course.book() as book:
        assert len(book.list_students()) == 2


def test_nobody_takes_the_grade_of_a_namesake_in_a_sheet_or_a_roster(course: Course, tmp_path: Path) -> None:
    roster, sheet = tmp_path / "roster.csv", tmp_path / "moodle.csv"
    roster.write_text("Name\nKim Lee\nLee Kim\n")
    sheet.write_text(
        "Identifier,Full name,Grade,Maximum Grade,Last modified (grade)\n"
        "Participant 1,Lee Kim,,100.00,-\nParticipant 2,Kim Lee,,100.00,-\n"
    )
    hand(course.source / "Kim Lee")
    for _ in range(2):
        course.regrade(roster=roster)
        assert course.scores() == {"Kim Lee": 100.0, "Lee Kim": None}
    with course.book() as book:
        filled = export_grades(book, "moodle", tmp_path / "out.csv", sheet)
    assert [row[2] for row in csv_sheet.read(tmp_path / "out.csv").rows] == [
        "",
        "",
    ]  # it could be either student, so neither gets it
    assert filled.not_in_sheet == ["Kim Lee"]


def test_a_name_alone_does_not_take_what_a_number_says_is_anothers(course: Course) -> None:
    with course.book() as book:
        (ann,) = match_or_add_students(book, [make_person("Ann", email="ann@x.edu")])
        assert match_students(book, [make_person("Ann", sid="9"), make_person("", email="ann@x.edu")]) == [None, ann]
        assert match_students(book, [make_person("Ann", sid="9")]) == [ann]
        assert match_students(book, [make_person("Ann", sid="9"), make_person("Ann", sid="8")]) == [None, None]
        match_or_add_students(
            book,
            [
                make_person("Bob", sid="1", email="b@x.edu"),
                make_person("Bob", sid="2", email="c@x.edu"),
                make_person("Eve"),
            ],
        )
        assert match_students(book, [make_person("Eve", sid="1", email="c@x.edu")]) == [None]


# --- files ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "name",
    [b"eve/g\xffpt.py", b"eve/\xff\xfe.txt", b"eve/\xff/h.py", b"ev\xffe/gpt.py", b"eve/w\xff.zip", b"eve\xff.py",
     b"eve.\xff", b"eve/2026-01-01 \xff/gpt.py", b"eve/\xff/\xff/x.py", b"eve/\xed\xa0\x80.ipynb"],
    ids=ascii,
)  # fmt: skip
def test_names_that_are_no_utf8_stop_nobody(course: Course, name: bytes) -> None:
    for student in ("ann", "bob", "eve"):
        hand(course.source / student)
    path = os.fsencode(course.source) + b"/" + name
    os.makedirs(os.path.dirname(path), exist_ok=True)
    Path(os.fsdecode(path)).write_text("# lose mlp.width\n")
    course.regrade()
    scores = course.scores()
    assert (scores["ann"], scores["bob"]) == (100.0, 100.0)
    assert (course.out / "index.html").is_file()
    assert scores["eve"] == (None if b"2026" in name else 100.0)  # if two files could be meant, neither is graded


def test_many_files_of_one_student_stop_nobody(course: Course) -> None:
    course.patch.setattr(choose, "MAX_ENTRIES", 2000)
    path = course.source / "all.zip"
    with zipfile.ZipFile(path, "w") as archive:
        for name in ("ann", "bob", "mia"):
            archive.writestr(f"{name}/gpt.py", f"# {name}\n")
        for n in range(2001):
            archive.writestr(f"eve/node/{n}", "")
            archive.writestr(f"mia/node_modules/{n}.py", "")
    course.regrade(path)
    assert course.scores() == {"ann": 100.0, "bob": 100.0, "mia": 100.0, "eve": None}
    assert "more than 2000 files; submit only the code" in course.said()


def test_folders_without_end_stop_nobody(course: Course) -> None:
    for student in ("ann", "eve"):
        hand(course.source / student)
    here = os.getcwd()
    os.chdir(course.source / "eve")
    try:
        for _ in range(1500):
            os.mkdir("d")
            os.chdir("d")
    finally:
        os.chdir(here)
    try:
        course.regrade()
        assert course.scores() == {"ann": 100.0, "eve": 100.0}
    finally:
        _removed(course.source / "eve")


def test_a_folder_that_cannot_be_listed_is_its_students_trouble(
    course: Course, monkeypatch: pytest.MonkeyPatch
) -> None:
    for student in ("ann", "eve"):
        hand(course.source / student)
    real = os.scandir

    def scandir(path: str) -> Any:
        if str(path).endswith("/eve"):
            raise PermissionError(13, "Permission denied")
        return real(path)

    monkeypatch.setattr(os, "scandir", scandir)
    course.regrade()
    assert course.scores() == {"ann": 100.0, "eve": None}
    assert "a folder that cannot be listed; make it readable" in course.said()


def test_a_terminal_without_the_letters_of_a_name_stops_nobody(course: Course, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("Ayşe Öztürk", "Öztürk, Ayşe", "漢"):
        hand(course.source / name)
    printed = io.TextIOWrapper(io.BytesIO(), "ascii")
    monkeypatch.setattr(sys, "stdout", printed)
    assert course.regrade() == 0
    printed.flush()
    assert b"Ay?e" in printed.buffer.getvalue()  # type: ignore[attr-defined]


def _removed(folder: Path) -> None:
    """Move the middle of a deep folder up until none is too deep to be removed."""
    deep = folder / "d"
    while True:
        below = deep.joinpath(*["d"] * 300)
        if not below.exists():
            break
        below.rename(folder / "next")
        shutil.rmtree(deep)
        (folder / "next").rename(deep)


def test_whatever_goes_wrong_with_one_submission_is_its_own_trouble(course: Course) -> None:
    for student in ("ann", "eve"):
        hand(course.source / student)
    hand(course.source / "eve", name=f"{'x' * 240}.py")
    with zipfile.ZipFile(course.source / "mallory.zip", "w") as archive:
        archive.writestr("gpt.py", "# mallory\n")
        archive.writestr(f"{'x' * 600}.py", "")
    course.regrade()
    scores = course.scores()
    assert (scores["ann"], scores["eve"], scores["mallory"]) == (100.0, 100.0, None)
    assert "1 without a grade: not graded: its files cannot be read; ask for them again (KeyError" in course.said()


# --- reports ----------------------------------------------------------------------------------------------------------

INFINITE = {
    "initial_loss.window": {"losses": {"yours": float("inf"), "ln V": 4.17}},
    "causality.full_model": {"influence": [[float("inf"), float("nan")], [1.0, float("inf")]]},
    "attention.formula": {"attention": [[float("inf"), 0.0], [float("nan"), 1.0]]},
    "model.training": {"training": [float("inf"), float("nan"), -float("inf"), 3e38]},
}
UNREADABLE = {"shapes.course": {"table": [["x", 5], None]}, "parameters.total": {"parts": {"x": "y"}, "counted": None}}


def graded(course: Course, monkeypatch: pytest.MonkeyPatch, evidence: dict[str, Any]) -> int:
    """Return a course in which eve's report contains ``evidence``."""
    real = course_kit.report

    def report(sha256: str, text: str, key: Any, rows: Any) -> Any:
        return real(sha256, text, key, rows, **(evidence if "eve" in text else {}))

    monkeypatch.setattr(course_kit, "report", report)
    for name in ("ann", "bob", "eve"):
        hand(course.source / name)
    return course.regrade()


def report_of(course: Course, name: str, suffix: str) -> str:
    with course.book() as book:
        return (course.out / "reports" / f"{book.find_student(name).alias}{suffix}").read_text("utf-8")


def test_figures_that_are_not_finite_are_drawn(course: Course, monkeypatch: pytest.MonkeyPatch) -> None:
    assert graded(course, monkeypatch, INFINITE) == 0
    page = report_of(course, "eve", ".html")
    assert "not finite" in page
    assert page.count("<svg") == 3
    assert "could not be rendered" not in (course.out / "index.html").read_text()
    assert set(course.scores().values()) == {100.0}


def test_a_report_that_cannot_be_drawn_is_plain_and_the_others_are_written(
    course: Course, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert graded(course, monkeypatch, UNREADABLE) == 0
    assert "could not be rendered (TypeError)" in report_of(course, "eve", ".html")
    assert "The points still count" in report_of(course, "eve", ".md")
    for name in ("ann", "bob"):
        assert "could not be rendered" not in report_of(course, name, ".html")
    index = (course.out / "index.html").read_text()
    assert index.count("the report could not be rendered (TypeError)") == 1
    assert set(course.scores().values()) == {100.0}


def test_a_report_that_is_damaged_on_the_disk_stops_nobody(course: Course, monkeypatch: pytest.MonkeyPatch) -> None:
    graded(course, monkeypatch, {})
    with course.book() as book:
        (document,) = query(
            book,
            "SELECT document FROM report JOIN entry ON report.id = report JOIN student ON student.id = student"
            " WHERE name = 'eve'",
        )[0]
        path = course.out / "results" / document
        whole = path.read_text()
        path.write_text("{")
        query(book, "DELETE FROM page")
        commands.write_pages(book)
        assert "could not be rendered (BadInput)" in (course.out / "index.html").read_text()
        rubric = course_kit.ROWS.model_copy(update={"version": "other"})
        commands.publish_run(book, rescore(book, rubric, ""), False)
        assert "its stored report cannot be read; delete results/" in course.said()
    assert course.scores() == {"ann": 100.0, "bob": 100.0, "eve": None}
    path.write_text(whole)


def test_a_report_that_cannot_be_kept_is_one_students_trouble(course: Course, monkeypatch: pytest.MonkeyPatch) -> None:
    real = Gradebook.save_report

    def save_report(book: Gradebook, report: Report, name: str) -> int:
        if any(check.status == "failed" for check in report.checks):
            "\ud800".encode()
        return real(book, report, name)

    monkeypatch.setattr(Gradebook, "save_report", save_report)
    for name in ("ann", "bob"):
        hand(course.source / name)
    hand(course.source / "eve", "# lose attention.shape\n")
    course.regrade()
    assert course.scores() == {"ann": 100.0, "bob": 100.0, "eve": None}
    assert "not graded: its report could not be saved (UnicodeEncodeError)" in course.said()
