"""Test the course commands exactly as a TA types them; each error is one line with a remedy."""

from __future__ import annotations

from pathlib import Path

import pytest
from typer.testing import CliRunner

from autograder.cli import app
from autograder.core.errors import BadInput
from tests.course_kit import Course
from tests.test_cli import command, one_line

LOST = "# lose causality.full_model lose model.loss lose bonus.qk_ov lose bonus.weight_tying lose bonus.batched_heads"


def run(*words: str) -> tuple[int, str]:
    """Return the exit status and output of a command; raise its refusal."""
    done = CliRunner().invoke(app, words)
    if isinstance(done.exception, BadInput):
        raise done.exception
    return done.exit_code, done.output


def test_a_term_in_commands(course: Course, tmp_path: Path) -> None:
    out = ("--gradebook", str(course.out))
    course.hand_in(ada=LOST, bob=LOST + "# b")
    status, said = run("regrade", str(course.source), *out, "--note", "deadline")
    assert (status, "2 students, 2 graded, mean 92.0" in said) == (0, True)
    status, said = run("override", "ada", "causality.full_model", "2.5", "--reason", "half right", *out)
    assert (status, "ada: 92 before, 94.5 now." in said) == (0, True)
    rubric = tmp_path / "rubric.toml"
    text = Path("autograder/assignment/rubric.toml").read_text("utf-8")
    rubric.write_text(
        text.replace('id = "loss"\npoints = 4', 'id = "loss"\npoints = 2').replace("total = 100", "total = 98")
    )
    run("rescore", *out, "--rubric", str(rubric), "--note", "loss counts less")
    assert course.scores() == {"ada": 94.5, "bob": 92.0}
    status, said = run("compare", *out)
    assert "model.loss: failed 0/4 -> failed 0/2  [rubric]" in said
    assert ": loss counts less)" in said
    status, said = run("compare", "1", "2", *out, "--anonymous")
    assert "ada" not in said
    assert "student-" in said
    with pytest.raises(BadInput, match="--no-anonymous"):
        run("export", "canvas", "--to", str(tmp_path / "x.csv"), *out)
    status, said = run("export", "csv", "--to", str(tmp_path / "x.csv"), *out, "--no-anonymous")
    assert "2 scores." in said
    status, said = run("override", "ada", "causality.full_model", "--remove", "--reason", "wrong student", *out)
    assert "94.5 before, 92 now" in said
    status, said = run("forget", "ada", "--yes", *out)
    assert course.scores() == {"bob": 92.0}


def test_former_options_still_work(course: Course, tmp_path: Path) -> None:
    course.hand_in(ada=LOST)
    out = ("--out", str(course.out))
    run("grade-all", str(course.source), *out, "--allow-lower", "--accept-weaker-sandbox", "--anonymous")
    run("override", "ada", "total", "9", "--reason", "x", *out, "--names")
    assert course.scores() == {"ada": 9.0}
    run("override", "ada", "total", "--take-back", "--reason", "x", *out)
    assert course.scores() == {"ada": 92.0}
    with course.book() as book:
        assert not book.is_anonymous


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("override", "ada", "mlp.width", "--reason", "x"), "either POINTS or --remove"),
        (("override", "ada", "mlp.width", "1", "--remove", "--reason", "x"), "either POINTS or --remove"),
        (("override", "nobody", "mlp.width", "1", "--reason", "x"), "no such student"),
        (("compare",), "two finished runs are needed to compare, found 1"),
        (("compare", "1", "7"), "run 7: not found"),
        (("rescore",), "has not changed"),
        (("export", "excel", "--to", "x"), "export excel: no such format; choose from csv, canvas"),
        (("export", "canvas", "--to", "x"), "--sheet is missing"),
        (("rescore", "--rubric", "nowhere.toml"), r"nowhere\.toml"),
    ],
)
def test_what_makes_no_sense_is_refused(course: Course, words: tuple[str, ...], says: str) -> None:
    course.hand_in(ada=LOST)
    course.regrade()
    with pytest.raises(BadInput, match=says) as refused:
        run(*words, "--gradebook", str(course.out))
    assert "\n" not in str(refused.value)


def test_bad_input_is_one_line_and_status_2(tmp_path: Path) -> None:
    done = command("compare", "--gradebook", str(tmp_path / "none"))
    assert done.returncode == 2
    assert "no gradebook.sqlite" in one_line(done.stderr)
    assert not (tmp_path / "none").exists()


def test_a_plain_grade_loads_nothing_of_the_course() -> None:
    heavy = ("autograder.course.commands", "sqlite3", "yaml", "jinja2", "concurrent.futures.process", "distributed")
    code = f"import sys, autograder.cli; print([name for name in {heavy} if name in sys.modules])"
    assert command(code=code).stdout == "[]\n"
