"""Test that overrides need a reason and survive regrades, compare names causes, and rescore runs nothing."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from autograder.core.errors import BadInput
from autograder.course import commands
from autograder.course.gradebook import overrides
from autograder.course.gradebook.rescore import rescore
from autograder.grading.rubric import Rubric
from tests.course_kit import ROWS, Course, query


def override(course: Course, student: str, what: str, points: float | None, reason: str = "because") -> None:
    with course.book() as book:
        overrides.set_override(book, book.find_student(student), what, points, reason)


def worth(check: str, points: int) -> Rubric:
    """Return the rubric with different points for one check."""
    criteria = tuple(
        c.model_copy(
            update={
                "checks": tuple(k.model_copy(update={"points": points}) if k.id == check else k for k in c.checks),
            }
        )
        for c in ROWS.criteria
    )
    total = sum(c.points for c in criteria if not c.bonus)
    return ROWS.model_copy(update={"criteria": criteria, "total": total, "version": f"{check}={points}"})


def compared(course: Course, *runs: int) -> str:
    course.said()
    with course.book() as book:
        commands.compare(book, *(runs or (None, None)))
    return course.said()


LOST = "# lose causality.full_model lose model.loss lose bonus.qk_ov lose bonus.weight_tying lose bonus.batched_heads"


def test_an_override_survives_a_regrade_of_changed_code(course: Course) -> None:
    course.hand_in(ada=LOST)
    course.regrade()
    assert course.scores() == {"ada": 92.0}
    override(course, "ada", "causality.full_model", 3)
    assert course.scores() == {"ada": 95.0}
    course.hand_in(ada=LOST + "\n# changed")
    course.regrade()
    assert course.scores() == {"ada": 95.0}
    override(course, "ada", "causality.full_model", None, "seen again")
    assert course.scores() == {"ada": 92.0}
    with course.book() as book:
        kept = query(book, "SELECT points, reason FROM override ORDER BY id")
    assert kept == [(3.0, "because"), (None, "seen again")]


@pytest.mark.parametrize(
    ("what", "points", "reason", "says"),
    [
        ("causality.full_model", 3, " ", "--reason"),
        ("causality.full_model", 5, "x", "from 0 to 4"),
        ("causality.full_model", -1, "x", "from 0 to 4"),
        ("causality.full_model", float("nan"), "x", "from 0 to 4"),
        (
            "causality.nothing",
            1,
            "x",
            r"not a check, .*; choose from causality.full_model, causality.full_context, [a-z_., ]+$",
        ),
        ("nothing", 1, "x", r"; choose from paper\.\*, attention\.\*, "),
        ("causality.full_model", None, "x", "nothing to remove"),
        ("total", 101, "x", "from 0 to 100"),
    ],
)
def test_an_override_that_makes_no_sense_is_refused(
    course: Course, what: str, points: float | None, reason: str, says: str
) -> None:
    course.hand_in(ada=LOST)
    course.regrade()
    with pytest.raises(BadInput, match=says):
        override(course, "ada", what, points, reason)


def test_an_error_set_by_hand_is_a_grade_and_a_total_stands_for_all(course: Course) -> None:
    course.hand_in(ada="# error mlp.width", bob="")
    course.regrade()
    assert course.scores() == {"ada": None, "bob": None}
    override(course, "ada", "mlp.width", 1)
    override(course, "bob", "total", 40, "handed in on paper")
    assert course.scores() == {"ada": 100.0, "bob": 40.0}


def test_written_answers_stand_beside_the_score(course: Course) -> None:
    course.hand_in(ada=LOST)
    course.regrade()
    override(course, "ada", "written.1", 4)
    override(course, "ada", "written.2", 3.5)
    with course.book() as book:
        standing = commands.find_result(book, book.find_student("ada"))
    assert (standing.score, standing.written) == (92.0, 7.5)


# --- compare ----------------------------------------------------------------------------------------------------------


def test_compare_names_code_grader_rubric_and_override(course: Course) -> None:
    course.hand_in(ada=LOST, bob="# lose mlp.width", eve=LOST + "# eve", kim="# kim")
    course.regrade(note="first")
    course.hand_in(ada=LOST.replace("lose model.loss", ""))
    override(course, "eve", "causality.full_model", 4, "the mask was right")
    course.regrade()
    said = compared(course)
    assert "ada: 92 -> 96\n  model.loss: failed 0/4 -> passed 4/4  [code]\n" in said
    assert "eve: 92 -> 96\n  causality.full_model: failed 0/4 -> passed 4/4  [override]\n    the mask was right" in said
    assert "bob" not in said
    assert "kim" not in said
    assert "2 students changed (code 1, override 1), 2 of them in score." in said

    course.patch.setattr("autograder.grading.suite.grader_version", lambda _: "9+9")
    with course.book() as book:  # the verdicts that the new grader gives the same sources
        course.patch.setattr("tests.course_kit.STATUS", {"lose": "passed", "half": "partial", "error": "error"})
        assert book.find_current_run() is not None
    course.regrade()
    said = compared(course)
    assert "bob: 99 -> 100\n  mlp.width: failed 0/1 -> passed 1/1  [grader]" in said


def test_a_changed_rubric_is_applied_to_stored_verdicts_and_compare_says_so(course: Course) -> None:
    course.hand_in(ada=LOST, bob="# half attention.formula" + LOST)
    course.regrade()
    new = worth("attention.formula", 16)
    with course.book() as book:
        commands.publish_run(book, rescore(book, new, "formula counts more"), allow_lower_scores=False)
    assert course.scores() == {"ada": 102.0, "bob": 94.0}
    said = compared(course)
    assert "attention.formula: passed 6/6 -> passed 16/16  [rubric]" in said
    assert "attention.formula: partial 3/6 -> partial 8/16  [rubric]" in said
    course.regrade(rubric=new)
    assert course.graded == []  # the same result as grading with the new rubric
    with course.book() as book, pytest.raises(BadInput, match="has not changed"):
        rescore(book, new, "")


def test_points_set_by_hand_are_never_more_than_a_check_has(course: Course) -> None:
    course.hand_in(ada="# half attention.formula" + LOST)
    course.regrade()
    override(course, "ada", "attention.formula", 6)
    with course.book() as book:
        commands.publish_run(book, rescore(book, worth("attention.formula", 4), ""), allow_lower_scores=False)
    assert "attention.formula: partial 3/6 -> passed 4/4  [override]" in compared(course)


def test_rescored_reports_equal_those_graded_with_the_new_rubric(course: Course, tmp_path: Path) -> None:
    course.hand_in(bob="# half attention.formula" + LOST)
    course.regrade()
    new = worth("attention.formula", 16)
    with course.book() as book:
        rescore(book, new, "")
    (found,) = course.out.glob("results/*formula=16*")
    course.out = tmp_path / "afresh"
    course.out.mkdir()
    shutil.copy(found.parent.parent / "secret", course.out)
    course.regrade(rubric=new)
    (afresh,) = course.out.glob("results/*")
    assert afresh.read_text() == found.read_text()


def test_a_check_that_never_ran_cannot_be_rescored(course: Course) -> None:
    course.hand_in(ada="# 1")
    course.regrade()
    first = ROWS.criteria[0]
    more = first.model_copy(
        update={"checks": (*first.checks, first.checks[0].model_copy(update={"id": "attention.new"}))}
    )
    with course.book() as book, pytest.raises(BadInput, match=r"attention\.new.*`regrade`"):
        rescore(book, ROWS.model_copy(update={"criteria": (more, *ROWS.criteria[1:]), "version": "n"}), "")


# --- names ------------------------------------------------------------------------------------------------------------


def test_with_anonymous_no_name_is_in_anything_that_is_read(course: Course) -> None:
    course.hand_in(adalovelace=LOST + " name scale_sqrt_d", bobross=LOST + " name scale_sqrt_d # b", empty="")
    with course.book() as book:
        book.set_anonymous(True)
    course.regrade()
    override(course, "adalovelace", "mlp.width", 0)
    course.hand_in(adalovelace="# new")
    course.regrade()
    said = course.said() + compared(course)
    with course.book() as book:
        commands.print_names("x", [book.find_student("bobross").display_name(book.is_anonymous)])
    pages = [course.out / "index.html", *(course.out / "reports").iterdir(), *(course.out / "results").iterdir()]
    for text in (said, course.said(), *(page.read_text() + page.name for page in pages)):
        assert "adalovelace" not in text.replace(str(course.out.parent), "")
        assert "bobross" not in text
    assert "student-" in said


def test_forget_deletes_a_student_and_what_only_they_handed_in(course: Course) -> None:
    from autograder.course.gradebook.delete_student import delete_student

    course.hand_in(adalovelace="# own", bob="# shared", eve="# shared")
    course.regrade()
    override(course, "adalovelace", "mlp.width", 0, "adalovelace said so")
    with course.book() as book:
        assert delete_student(book, book.find_student("adalovelace")) == 0
        assert delete_student(book, book.find_student("bob")) == 1
        commands.write_pages(book)
        with pytest.raises(BadInput, match="no such student"):
            book.find_student("adalovelace")
    assert course.scores() == {"eve": 100.0}
    for path in (path for path in course.out.rglob("*") if path.is_file()):
        assert b"adalovelace" not in path.read_bytes(), path
    assert [len(list((course.out / name).iterdir())) for name in ("submissions", "results")] == [1, 1]
    assert len(list((course.out / "reports").glob("*.html"))) == 1
