"""Test that sheets are filled as importers expect, no cell is a formula, and students without a grade get none."""

from __future__ import annotations

import csv
import io

import pytest

from autograder.core import csv_sheet
from autograder.core.csv_sheet import Sheet, defuse
from autograder.core.errors import BadInput
from autograder.course.output import FORMATS, canvas, csv_table, get_format, moodle
from autograder.course.output.export_format import ExportedGrades
from autograder.course.output.grade_export import export_grades
from tests.course_kit import Course, query

LOST = "# lose causality.full_model lose model.loss half mlp.position_wise lose bonus.qk_ov lose bonus.weight_tying"
HOSTILE = ['=HYPERLINK("http://x","y")', "O'Neil, José", '"Zoë" 🎉', "+1 (Bob)", "-Dash", "@at", "Ayşe; Öztürk"]
CANVAS = "\ufeffStudent,ID,SIS User ID,SIS Login ID,Section,Other (11),HW 5 (12),Final Score\r\n"
MOODLE = (
    "Identifier,Full name,Email address,Status,Grade,Maximum Grade,Grade can be changed,"
    "Last modified (submission),Last modified (grade),Feedback comments\r\n"
)


@pytest.fixture
def graded(course: Course) -> Course:
    """Return a course of seven students with awkward names, one without a grade, with a Canvas and a Moodle sheet."""
    root = course.source.parent
    with (root / "canvas.csv").open("w", encoding="utf-8", newline="") as file:
        file.write(CANVAS + "    Points Possible,,,,,10,100,(read only)\r\n")
        writer = csv.writer(file)
        writer.writerows([name, 100 + n, f"s{n}", f"student{n}", "A", "3", "", ""] for n, name in enumerate(HOSTILE))
        writer.writerow(["Not, Here", 999, "s999", "nothere", "A", "", "", ""])
    with (root / "moodle.csv").open("w", encoding="utf-8", newline="") as file:
        file.write(MOODLE)
        writer = csv.writer(file)
        writer.writerows(
            [f"Participant {200 + n}", name, f"student{n}@x.edu", "Submitted", "", "100.00", "Yes", "-", "-", "kept"]
            for n, name in enumerate(HOSTILE)
        )
    course.hand_in(**{f"student{n}": f"{LOST}\n# {n}" for n in range(len(HOSTILE) - 1)}, student6="")
    course.regrade(roster=root / "canvas.csv")
    with course.book() as book:
        from autograder.course.gradebook.match_students import match_or_add_students
        from autograder.course.intake.identity import read_roster

        for person in read_roster(root / "moodle.csv"):
            match_or_add_students(book, [person], on_roster=True)
    return course


def written(course: Course, form: str, sheet: str = "", **options: object) -> tuple[Sheet, ExportedGrades]:
    target = course.source.parent / f"out-{form}.csv"
    with course.book() as book:
        source = course.source.parent / sheet if sheet else None
        filled = export_grades(book, form, target, source, **options)  # type: ignore[arg-type]
    return csv_sheet.read(target), filled


def test_canvas_fills_its_own_column_and_nothing_else(graded: Course) -> None:
    with pytest.raises(BadInput, match=r"Other \(11\), HW 5 \(12\)"):
        written(graded, "canvas", "canvas.csv")
    sheet, filled = written(graded, "canvas", "canvas.csv", column="HW 5 (12)")
    assert sheet.header == ["Student", "ID", "SIS User ID", "SIS Login ID", "Section", "HW 5 (12)"]
    assert [row[-1] for row in sheet.rows] == ["100", *["91"] * 6, "", ""]
    assert canvas.find_problems(sheet) == []
    assert len(filled.scores) == 6
    assert [text.partition(" (")[2].split(":")[0] for text in filled.without_score] == [
        "gpt.py",
        "no submission)",
    ]


def test_moodle_fills_the_grade_and_leaves_the_rest(graded: Course) -> None:
    sheet, _ = written(graded, "moodle", "moodle.csv")
    assert ",".join(sheet.header) == MOODLE.strip()
    assert [row[4] for row in sheet.rows] == [*["91"] * 6, ""]
    assert {row[-1] for row in sheet.rows} == {"kept"}
    assert moodle.find_problems(sheet) == []


@pytest.mark.parametrize("separator", [",", ";", "\t"])
def test_no_spreadsheet_finds_a_formula_whatever_it_separates_cells_with(graded: Course, separator: str) -> None:
    graded.hand_in(**{"x;=cmd|' _C calc'!A0;": "# 8", "y\t@SUM(1)": "# 9", "z,+1": "# 10", 'q;"=1"': "# 11"})
    graded.regrade(roster=graded.source.parent / "canvas.csv")
    written(graded, "csv")
    text = (graded.source.parent / "out-csv.csv").read_text("utf-8-sig")
    assert "cmd|" in text
    cells = [cell.strip(' "') for line in text.splitlines() for cell in line.split(separator)]
    assert [cell for cell in cells if cell.startswith(("=", "+", "-", "@"))] == []


def test_points_that_the_platform_counts_otherwise_are_refused_or_scaled(graded: Course) -> None:
    path = graded.source.parent / "moodle.csv"
    path.write_text(path.read_text("utf-8").replace("100.00", "10.00"), "utf-8")
    with pytest.raises(BadInput, match="--scale"):
        written(graded, "moodle", "moodle.csv")
    sheet, filled = written(graded, "moodle", "moodle.csv", scale=True)
    assert sheet.rows[0][4] == "9.1"
    assert set(filled.scores.values()) == {91.0}  # what counts here is not scaled


def test_the_plain_table_has_everyone_and_no_formula(graded: Course) -> None:
    sheet, _ = written(graded, "csv")
    rows = [dict(zip(sheet.header, row, strict=True)) for row in sheet.rows]
    assert {row["name"] for row in rows} >= {defuse(name) for name in HOSTILE}
    assert sorted(row["score"] for row in rows) == ["", "", *["91"] * 6]
    assert csv_table.find_problems(sheet) == []
    raw = (graded.source.parent / "out-csv.csv").read_text("utf-8-sig")
    for row in csv.reader(io.StringIO(raw, newline="")):
        for cell in row:
            assert not cell.startswith(("=", "+", "-", "@", "\t", "\r")), cell


def test_with_hidden_names_the_plain_table_has_none(graded: Course) -> None:
    with graded.book() as book:
        book.set_anonymous(True)
    sheet, _ = written(graded, "csv")
    assert not {cell for row in sheet.rows for cell in row} & set(HOSTILE)


@pytest.mark.parametrize(
    ("cell", "safe"),
    [
        *(("=1+1", "'=1+1"), ("  =x", "'  =x"), ("@a", "'@a"), ("-3.5", "-3.5"), ("-", "-"), ("-x", "'-x")),
        *(("a=b", "a=b"), ("x;=cmd|' /C calc'!A0", "x;'=cmd|' /C calc'!A0"), ('a,"=b"', 'a,\'"=b"')),
        *(("a\t@b\n-c", "a\t'@b\n'-c"), ("\uff1dx", "'\uff1dx"), ("1,5", "1,5"), ("Doe; Jane, J.", "Doe; Jane, J.")),
    ],
)
def test_cells_that_a_spreadsheet_would_execute_are_defused(cell: str, safe: str) -> None:
    assert defuse(cell) == safe
    assert defuse(safe) == safe


@pytest.mark.parametrize(
    ("form", "text", "says"),
    [
        ("canvas", "Name,ID,Section,HW (1)\nx,1,A,3\n", "does not begin with Student"),
        ("canvas", "Student,ID,Section,HW\nx,1,A,3\n", "new assignment"),
        ("canvas", "Student,ID,Section,HW (1)\nx,1,A,3\ny,1,A,4\n", "appears twice"),
        ("canvas", "Student,ID,Section,HW (1)\nx,1,A,good\n", "not a score"),
        ("canvas", "Student,ID,Section,Final Score (1)\nx,1,A,3\n", "ignored"),
        ("canvas", "Student,ID,Section,HW (1)\n=x,1,A,3\n", "executed"),
        ("moodle", "Identifier,Grade\nParticipant 1,3\n", "no column"),
        ("moodle", "Identifier,Grade,Last modified (grade)\nBob,3,-\n", "not Participant"),
        (
            "moodle",
            "Identifier,Grade,Maximum Grade,Last modified (grade)\nParticipant 1,30,10,-\n",
            "above the maximum",
        ),
    ],
)
def test_the_validators_find_what_an_importer_would_not_take(form: str, text: str, says: str) -> None:
    assert any(says in problem for problem in get_format(form).find_problems(csv_sheet.parse(text, "x")))


def test_every_format_has_the_same_interface() -> None:
    import autograder.cli  # noqa: F401, registers nbgrader

    assert list(FORMATS) == ["csv", "canvas", "moodle", "nbgrader"]
    for name in FORMATS:
        assert isinstance(get_format(name).NEEDS_NAMES, bool)
        assert callable(get_format(name).write)


def test_every_export_is_on_record(graded: Course) -> None:
    written(graded, "csv")
    written(graded, "moodle", "moodle.csv")
    with graded.book() as book:
        assert query(book, "SELECT format FROM export ORDER BY id") == [("csv",), ("moodle",)]
        assert len(query(book, "SELECT * FROM exported")) == 12


def test_logins_that_differ_in_capitals_alone_are_two_students_of_nbgrader(course: Course) -> None:
    api = pytest.importorskip("nbgrader.api", reason="nbgrader is not installed")
    course.hand_in(Ann="# 1", ann=LOST)
    course.regrade()
    target = course.source.parent / "gradebook.db"
    with course.book() as book:
        export_grades(book, "nbgrader", target)
    with api.Gradebook(f"sqlite:///{target}") as theirs:
        assert sorted(s.score for s in theirs.assignment_submissions("step-05")) == [93.0, 106.0]


def test_nbgraders_gradebook_has_the_scores(graded: Course) -> None:
    api = pytest.importorskip("nbgrader.api", reason="nbgrader is not installed")
    target = graded.source.parent / "gradebook.db"
    with graded.book() as book:
        export_grades(book, "nbgrader", target)
    with api.Gradebook(f"sqlite:///{target}") as theirs:
        found = {s.student.id: (s.score, s.max_score) for s in theirs.assignment_submissions("step-05")}
        assert found == {f"student{n}": (93.0, 100.0) for n in range(6)}
        assert theirs.find_student("student1").last_name
        mlp = theirs.find_grade("check-mlp", "step-05", "step-05", "student1")
        mlp.manual_score = 3.0
        theirs.db.commit()
    with graded.book() as book:
        export_grades(book, "nbgrader", target)
    with api.Gradebook(f"sqlite:///{target}") as theirs:
        mlp = theirs.find_grade("check-mlp", "step-05", "step-05", "student1")
        assert (mlp.auto_score, mlp.manual_score, mlp.needs_manual_grade) == (6.0, 3.0, True)
