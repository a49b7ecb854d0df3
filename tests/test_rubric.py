"""Test that rubric and checks match, points add up, and an error in the rubric is one line with its location."""

from __future__ import annotations

import ast
import re
from dataclasses import replace
from pathlib import Path

import pytest

from autograder.assignment import ASSIGNMENT
from autograder.assignment.oracle import parameter_count
from autograder.assignment.sizes import SIZES, Dims
from autograder.core.errors import BadInput
from autograder.grading import report
from autograder.grading.rubric import RubricError, load, select

ROWS = load(ASSIGNMENT)

GOOD = """\
total = 5  # of both

[[criterion]]
id = "one"
title = "First"
task = "1"

[[criterion.check]]
id = "a"
points = 2
title = "{total:,} at {V} and {d}"

[[criterion.check]]
id = "b"
points = 3
title = "second"

[[criterion]]
id = "extra"
title = "More"
task = "2"
bonus = true

[[criterion.check]]
id = "a"
points = 4
title = "last"
visibility = "hidden"
"""


def write(tmp_path: Path, *changes: tuple[str, str]) -> Path:
    """Return the good rubric with the last occurrence of each text replaced."""
    text = GOOD
    for old, new in changes:
        before, found, after = text.rpartition(old)
        assert found, old
        text = before + new + after
    path = tmp_path / "rubric.toml"
    path.write_text(text, "utf-8")
    return path


def test_every_check_has_a_row_and_every_row_a_check() -> None:
    functions = [
        f"{path.stem}.{node.name.removeprefix('test_')}"
        for path in sorted(ASSIGNMENT.checks.glob("*.py"))
        for node in ast.parse(path.read_text("utf-8")).body
        if isinstance(node, ast.FunctionDef) and node.name.startswith("test_")
    ]
    assert len(set(functions)) == len(functions)
    assert set(functions) == {check.id for check in ROWS.checks}


def test_the_points_of_what_is_no_bonus_add_up_to_the_total() -> None:
    assert sum(criterion.points for criterion in ROWS.criteria if not criterion.bonus) == ROWS.total
    assert all(check.id.startswith(f"{criterion.id}.") for criterion in ROWS.criteria for check in criterion.checks)
    assert all(check.criterion == criterion.id for criterion in ROWS.criteria for check in criterion.checks)
    assert ROWS.checks == tuple(check for criterion in ROWS.criteria for check in criterion.checks)


def test_no_title_is_said_twice_or_has_a_figure_left_open() -> None:
    for criterion in ROWS.criteria:
        titles = [check.title for check in criterion.checks]
        assert len(set(titles)) == len(titles)
        assert not [title for title in titles if set(title) & set("{}\n") or len(title) > 70]


def test_a_good_rubric_is_read_in_its_order(tmp_path: Path) -> None:
    rows = load(ASSIGNMENT, write(tmp_path))
    assert [check.id for check in rows.checks] == ["one.a", "one.b", "extra.a"]
    assert [check.points for check in rows.checks] == [2, 3, 4]
    assert [check.visibility for check in rows.checks] == ["visible", "visible", "hidden"]
    assert [criterion.bonus for criterion in rows.criteria] == [False, True]
    assert rows.total == 5


def test_a_criterion_decides_the_visibility_of_its_checks_that_do_not(tmp_path: Path) -> None:
    late = ('title = "First"', 'title = "First"\nvisibility = "after_due_date"')
    rows = load(ASSIGNMENT, write(tmp_path, late, ("points = 3", 'points = 3\nvisibility = "visible"')))
    assert [check.visibility for check in rows.checks] == ["after_due_date", "visible", "hidden"]


def test_titles_follow_the_figures_of_the_assignment(tmp_path: Path) -> None:
    course = Dims(V=1000, T_max=32, d=48, H=3, L=2)
    rows = load(
        replace(ASSIGNMENT, figures=course.arguments() | {"total": parameter_count.total(course)}), write(tmp_path)
    )
    assert rows.checks[0].title == f"{parameter_count.total(course):,} at 1000 and 48"
    assert any(f"{parameter_count.total(SIZES.course):,}" in check.title for check in ROWS.checks)


def test_another_text_is_another_version(tmp_path: Path) -> None:
    one = load(ASSIGNMENT, write(tmp_path)).version
    assert load(ASSIGNMENT, write(tmp_path)).version == one
    assert load(ASSIGNMENT, write(tmp_path, ("second", "other"))).version != one


# A change to GOOD, and the line on which the wrong entry begins.
BAD: dict[str, tuple[list[tuple[str, str]], int]] = {
    "unknown key of a check": ([("visibility", "visible")], 24),
    "unknown key of a criterion": ([("bonus", "extra")], 18),
    "unknown key at the top": ([("total = 5", 'course = "x"\ntotal = 5')], 1),
    "unknown table": ([("[[criterion]]\nid", "[[criteria]]\nid")], 18),
    "no title of a check": ([('title = "last"', "")], 24),
    "no id of a check": ([('id = "a"', "")], 24),
    "no points": ([("points = 3", "")], 13),
    "no title of a criterion": ([('title = "More"', "")], 18),
    "no id of a criterion": ([('id = "extra"', "")], 18),
    "no total": ([("total = 5", "")], 1),
    "negative points": ([("points = 4", "points = -4")], 24),
    "half points": ([("points = 3", "points = 2.5")], 13),
    "points as text": ([("points = 4", 'points = "four"')], 24),
    "unknown visibility": ([('"hidden"', '"secret"')], 24),
    "unknown visibility of a criterion": ([("bonus = true", 'bonus = true\nvisibility = "never"')], 18),
    "unknown figure": ([('"second"', '"{speed}"')], 13),
    "figure without a name": ([('"second"', '"{}"')], 13),
    "figure as no number": ([('"second"', '"{V:zz}"')], 13),
    "bracket not closed": ([('"second"', '"{V"')], 13),
    "the same check twice": ([('id = "b"', 'id = "a"')], 13),
    "the same criterion twice": ([('id = "extra"', 'id = "one"')], 18),
    "wrong total": ([("total = 5", "total = 6")], 1),
    "broken TOML": ([("points = 3", "points = = 3")], 13),
    "TOML that breaks off": ([('visibility = "hidden"', 'visibility = """')], 24),
    "the same key twice": ([("points = 3", "points = 3\npoints = 3")], 13),
}


@pytest.mark.parametrize("bad", BAD)
def test_a_bad_rubric_is_one_line_with_its_place(tmp_path: Path, bad: str) -> None:
    changes, line = BAD[bad]
    path = write(tmp_path, *changes)
    with pytest.raises(RubricError) as error:
        load(ASSIGNMENT, path)
    message = str(error.value)
    assert message.isprintable()
    assert message.startswith(f"{path}:")
    named = re.match(r":(\d+): ", message.removeprefix(str(path)))
    assert named, message
    text = path.read_text().splitlines()
    after = [n for n, words in enumerate(text, 1) if words.startswith("[") and n > line]
    assert line <= int(named[1]) < min(after, default=len(text) + 1), message  # any line of that entry


def test_a_rubric_that_is_no_text_or_not_there_is_one_line(tmp_path: Path) -> None:
    path = tmp_path / "rubric.toml"
    for _ in range(2):
        with pytest.raises(RubricError) as error:
            load(ASSIGNMENT, path)
        assert str(error.value).isprintable()
        assert str(path) in str(error.value)
        path.write_bytes(b"total = 5 # \xff")


def test_the_bonus_stands_beside_the_score() -> None:
    def verdict(criterion: str, status: str, score: float) -> report.Verdict:
        return report.Verdict(id="x", criterion=criterion, title="", status=status, score=score, max_score=4)  # type: ignore[arg-type]

    full, half = verdict("one", "passed", 4), verdict("one", "partial", 2)
    extra, skipped = verdict("extra", "passed", 3), verdict("one", "skipped", 0)
    assert report.compute_totals((full, half, extra), {"extra"}, 8) == (6, 8, 3)
    assert report.compute_totals((half, half, extra), {"extra"}, 8) == (4, 8, 3)
    assert report.compute_totals((full, skipped), {"extra"}, 8) == (4, 4, 0)
    assert report.compute_totals((skipped, skipped, extra), {"extra"}, 8) == (0, 0, 3)


@pytest.mark.parametrize(
    ("part", "criteria", "definitions"),
    [
        ("attention", {"attention"}, set()),
        ("MultiHeadAttention", {"attention"}, set()),
        ("GPT", {"model"}, set()),
        ("generate", {"generation"}, set()),
        ("GPT.generate", {"generation"}, set()),
        ("5.1", {"attention"}, set()),
        ("task 5.4 (2)", {"causality"}, set()),
        ("5.4.2", {"causality"}, set()),
        ("5.3", {"block", "model", "generation"}, set()),
        ("shape_table", set(), {"shape_table"}),
        (
            "paper",
            {"paper"},
            {"parameter_count", "parameter_shares", "block_matrices", "layer_norm_geometry", "expected_initial_loss"},
        ),
        ("on paper, 3", set(), {"layer_norm_geometry"}),
    ],
)
def test_a_part_has_several_names(part: str, criteria: set[str], definitions: set[str]) -> None:
    found = select(ROWS, ASSIGNMENT.contract, part)
    assert (set(found.criteria), set(found.definitions)) == (criteria, definitions)


@pytest.mark.parametrize("part", ["", "5", "atention", "6.1", "Head"])
def test_an_unknown_part_is_answered_with_those_there_are(part: str) -> None:
    if part == "5":
        assert len(select(ROWS, ASSIGNMENT.contract, part).criteria) > 5
        return
    with pytest.raises(BadInput, match="choose from paper, attention, mlp"):
        select(ROWS, ASSIGNMENT.contract, part)
