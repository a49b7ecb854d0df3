"""Test that every layout of export is read, names are data, and an ungradable submission is a row with the reason."""

from __future__ import annotations

import io
import os
import zipfile
from collections.abc import Sequence
from pathlib import Path

import pytest

from autograder.assignment import ASSIGNMENT
from autograder.core.errors import BadInput
from autograder.course.intake import collect, downloads
from autograder.course.intake.downloads import Attempt
from autograder.course.intake.identity import Person, name_key, parse_row, read_roster
from autograder.submission.read import read_submission
from tests.conftest import ROOT
from tests.course_kit import Course
from tests.notebooks import code, save

CODE = "class GPT: ...\n"
GRADESCOPE = """---
submission_11:
  :submitters:
  - :name: Ayşe Öztürk
    :sid: '0042'
    :email: Ayse@x.edu
  - :name: "O'Neil, José"
    :sid: '0043'
    :email: jose@x.edu
  :created_at: 2026-01-02 06:02:15.270040000 Z
  :score: 0.0
  :status: processed
  :results: !ruby/object:Anything
    a: 1
  :history: []
submission_12:
  :submitters:
  - :name: Bob
    :sid:
    :email: bob@x.edu
  :created_at: 2026-01-03 06:02:15.270040000 Z
"""


def zipped(path: Path, files: dict[str, str | bytes]) -> Path:
    with zipfile.ZipFile(path, "w") as archive:
        for name, text in files.items():
            archive.writestr(name, text)
    return path


def names(handed: list[Attempt]) -> list[list[str]]:
    return [[who.name for who in one.people] for one in handed]


def taken(tmp_path: Path, *paths: Path, **options: object) -> dict[str, list[collect.CollectedAttempt]]:
    """Return the items by name."""
    people: list[str] = []

    def known(found: Sequence[Person]) -> list[int]:
        people.extend(dict.fromkeys(who.display_name for who in found if who.display_name not in people))
        return [people.index(who.display_name) for who in found]

    store = tmp_path / "store"
    store.mkdir(exist_ok=True)
    found: dict[str, list[collect.CollectedAttempt]] = {}
    for item in collect.collect_attempts(paths, store, known, ASSIGNMENT, **options):  # type: ignore[arg-type]
        found.setdefault(people[item.student], []).append(item)
    return found


def test_gradescope_names_come_from_its_metadata_and_a_group_is_each_of_its_members(tmp_path: Path) -> None:
    files = {
        "assignment_9_export/submission_metadata.yml": GRADESCOPE,
        "assignment_9_export/submission_11/gpt.py": CODE,
    }
    path = zipped(tmp_path / "export.zip", dict(files))
    layout, handed = downloads.read(path, ASSIGNMENT.contract)
    assert layout == "gradescope"
    assert names(handed) == [["Ayşe Öztürk", "O'Neil, José"], ["Bob"]]
    assert handed[0].people[0].ids == (("sid", "0042"), ("email", "ayse@x.edu"))
    assert handed[0].submitted.startswith("2026-01-02 06:02:15")
    items = taken(tmp_path, path)
    assert items["Ayşe Öztürk"][0].sha256 == items["O'Neil, José"][0].sha256 != ""
    assert items["Ayşe Öztürk"][0].partners == 1
    assert items["Bob"][0].trouble == "nothing was submitted; ask for gpt.py"


def test_canvas_names_lose_what_canvas_adds(tmp_path: Path) -> None:
    files = {
        "oneiljose_LATE_77_901_gpt-1.py": CODE,
        "oneiljose_LATE_77_902_paper.py": CODE,
        "doejane_78_903_my work (final).py": CODE,
        "doejohn_79_904_hw.zip": zip_bytes({"hw/gpt.py": CODE}),
    }
    path = zipped(tmp_path / "submissions.zip", files)
    layout, handed = downloads.read(path, ASSIGNMENT.contract)
    assert layout == "canvas"
    assert [one.people[0].ids for one in handed] == [(("canvas", "78"),), (("canvas", "79"),), (("canvas", "77"),)]
    assert sorted(entry.name for entry in handed[2].files) == ["gpt.py", "paper.py"]
    assert all(not item.trouble for items in taken(tmp_path, path).values() for item in items)


def zip_bytes(files: dict[str, str]) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name, text in files.items():
            archive.writestr(name, text)
    return buffer.getvalue()


@pytest.mark.parametrize("flat", [False, True])
def test_moodle_folders_and_flat_files(tmp_path: Path, flat: bool) -> None:
    between = "" if flat else "/"
    path = zipped(
        tmp_path / "step.zip",
        {
            f"Ayşe von Öztürk_1234_assignsubmission_file_{between}gpt.py": CODE,
            f"Ayşe von Öztürk_1234_assignsubmission_onlinetext_{between}onlinetext.html": "<p>hi",
            f"Bob_77_assignsubmission_onlinetext_{between}onlinetext.html": "<p>see mail",
        },
    )
    layout, handed = downloads.read(path, ASSIGNMENT.contract)
    assert layout == "moodle"
    assert names(handed) == [["Ayşe von Öztürk"], ["Bob"]]
    assert handed[0].people[0].ids == (("moodle", "1234"),)
    assert taken(tmp_path, path)["Bob"][0].trouble.startswith("nothing was submitted")


def test_nbgrader_submitted_asks_which_assignment_where_there_are_several(tmp_path: Path) -> None:
    root = tmp_path / "submitted"
    for name in ("step04", "step05"):
        (root / "ada" / name).mkdir(parents=True)
        (root / "ada" / name / "gpt.py").write_text(CODE)
    (root / "ada/step05/timestamp.txt").write_text("2026-01-02 10:00:00 UTC\n")
    with pytest.raises(BadInput, match="step04, step05"):
        downloads.read(root, ASSIGNMENT.contract)
    layout, (handed,) = downloads.read(root, ASSIGNMENT.contract, "step05")
    assert (layout, handed.submitted) == ("nbgrader", "2026-01-02 10:00:00 UTC")
    assert handed.people[0].ids == (("login", "ada"),)


def test_a_plain_folder_may_be_named_like_nbgraders(tmp_path: Path) -> None:
    (tmp_path / "submitted" / "ada").mkdir(parents=True)
    (tmp_path / "submitted" / "ada" / "gpt.py").write_text(CODE)
    assert downloads.read(tmp_path / "submitted", ASSIGNMENT.contract)[0] == "folder"
    (tmp_path / "submitted" / "ada" / "step05").mkdir()
    (tmp_path / "submitted" / "ada" / "step05" / "gpt.py").write_text(CODE)
    assert downloads.read(tmp_path, ASSIGNMENT.contract)[0] == "nbgrader"


def test_of_several_attempts_the_latest_counts_and_all_are_there_on_request(tmp_path: Path) -> None:
    root = tmp_path / "in"
    for attempt in (9, 10):
        (root / "ada" / f"attempt{attempt}").mkdir(parents=True)
        (root / "ada" / f"attempt{attempt}" / "gpt.py").write_text(f"# {attempt}\n")
    (root / "bob.py").write_text(CODE)
    assert [(item.attempt, item.submitted) for item in taken(tmp_path, root)["ada"]] == [(2, "attempt10")]
    every = taken(tmp_path, root, all_attempts=True)
    assert [(item.submitted, item.latest) for item in every["ada"]] == [("attempt9", False), ("attempt10", True)]
    assert len(every["bob"]) == 1


def test_names_of_an_archive_are_never_paths(tmp_path: Path) -> None:
    path = zipped(
        tmp_path / "in.zip",
        {
            "ada/gpt.py": CODE,
            "../../evil/gpt.py": CODE,
            "/etc/evil.py": CODE,
            "bo\nb\x1b[31m/gpt.py": CODE,
            "ada/../../../evil.py": CODE,
        },
    )
    inside = tmp_path / "deep" / "er"
    inside.mkdir(parents=True)
    items = taken(inside, path)
    assert not items["ada"][0].trouble
    assert [name for name in items if "\n" in name or "\x1b" in name] == []
    written = {p.relative_to(tmp_path) for p in tmp_path.rglob("*") if p.is_file()}
    store = Path("deep/er/store")
    assert {p for p in written if p.parent != store} == {Path("in.zip")}


def test_what_cannot_be_read_says_why(tmp_path: Path) -> None:
    root = tmp_path / "in"
    for name in ("linked", "empty", "other"):
        (root / name).mkdir(parents=True)
    (root / "linked" / "gpt.py").symlink_to("/etc/passwd")
    (root / "empty" / "gpt.py").write_text("")
    (root / "other" / "work.py").write_text(CODE)
    (root / "bad.zip").write_bytes(b"PK\x03\x04")
    (root / "essay.pdf").write_bytes(b"%PDF")
    os.mkfifo(root / "pipe.py")
    (root / "roster.csv").write_text("name\nx\n")
    trouble = {name: items[0].trouble for name, items in taken(tmp_path, root).items()}
    assert "link" in trouble["linked"]
    assert "empty" in trouble["empty"]
    assert trouble["other"].startswith("no gpt.py, only work.py")
    assert "not a readable zip file" in trouble["bad"]
    assert "not a folder or a .py" in trouble["essay.pdf"]
    assert "regular file" in trouble["pipe"]
    assert "roster" not in trouble
    assert not [text for text in trouble.values() if str(tmp_path) in text or "autograder-" in text]


def test_what_is_kept_is_what_counts_and_has_the_hash_of_a_single_grading(tmp_path: Path) -> None:
    root = tmp_path / "in" / "ada"
    root.mkdir(parents=True)
    (root / "gpt.py").write_text(CODE)
    (root / "helper.py").write_text("x = 1\n")
    (root / "photo.jpg").write_bytes(b"\xff" * 100)
    (item,) = taken(tmp_path, tmp_path / "in")["ada"]
    assert item.sha256 == read_submission(root, ASSIGNMENT).sha256
    kept = read_submission(collect.source_path(tmp_path / "store", item.sha256), ASSIGNMENT)
    assert kept.sha256 == item.sha256
    assert set(kept.names) == {"gpt.py", "helper.py"}


@pytest.mark.parametrize("path", ["reference", "reference/gpt.py", "nowhere", "Makefile"])
def test_what_is_no_export_is_refused_in_one_line(path: str) -> None:
    with pytest.raises(BadInput) as refused:
        downloads.read(ROOT / path, ASSIGNMENT.contract)
    assert "\n" not in str(refused.value)


def test_rosters_of_platforms_are_read_and_rows_about_no_one_are_not_people(tmp_path: Path) -> None:
    canvas = tmp_path / "canvas.csv"
    canvas.write_text(
        "Student,ID,SIS Login ID,Section,HW (1)\n    Points Possible,,,,100\n"
        '"Öztürk, Ayşe",77,ayse,A,\n"Student, Test",99,x,A,\n',
        "utf-8-sig",
    )
    (found,) = read_roster(canvas)
    assert (found.name, dict(found.ids)) == ("Öztürk, Ayşe", {"canvas": "77", "login": "ayse"})
    moodle = tmp_path / "moodle.csv"
    moodle.write_text("Identifier;Full name;Email address\nParticipant 5;Bob;BOB@x.edu\n")
    assert dict(read_roster(moodle)[0].ids) == {"moodle": "5", "email": "bob@x.edu"}
    plain = tmp_path / "plain.csv"
    plain.write_bytes("First name,Last name,Student ID\nJosé,O'Neil,7\n".encode("cp1252"))
    assert (read_roster(plain)[0].name, dict(read_roster(plain)[0].ids)) == ("José O'Neil", {"sid": "7"})
    (tmp_path / "odd.csv").write_text("colour\nred\n")
    with pytest.raises(BadInput, match="no column for a name"):
        read_roster(tmp_path / "odd.csv")
    assert parse_row(["", ""], ["Name", "Email"]) is None
    assert name_key("Öztürk, Ayşe") == name_key("ayse ozturk")


def test_students_are_recognised_across_exports_and_namesakes_are_not_mixed_up(course: Course) -> None:
    from autograder.course.gradebook.match_students import match_or_add_students
    from autograder.course.intake.identity import make_person

    with course.book() as book:

        def add(person: Person, on_roster: bool = False) -> int:
            (number,) = match_or_add_students(book, [person], on_roster)
            return number

        listed_ = add(make_person("Doe, Jane", canvas="1", email="jane@x.edu"), on_roster=True)
        assert add(make_person("doejane", canvas="1")) == listed_
        assert add(make_person("Jane Doe", email="Jane@X.edu")) == listed_
        assert add(make_person("Jane Doe", moodle="88")) == listed_  # matched by name, since nothing contradicts it
        other = add(make_person("Jane Doe", canvas="2"))
        assert other != listed_
        assert add(make_person("Jane Doe", sid="3")) not in (listed_, other)  # the name fits both students
        assert add(make_person("jane@x.edu", label="jane@x.edu")) == listed_
        with pytest.raises(BadInput, match="3 students; use one of student-"):
            book.find_student("jane doe")


def test_a_roster_says_who_is_missing(course: Course) -> None:
    course.hand_in(ada="")
    course.source.joinpath("ada", "gpt.py").write_text(CODE)
    who = course.source.parent / "who.csv"
    who.write_text("Name,Username\nAda Lovelace,ada\nBob,bob\n")
    course.regrade(roster=who)
    assert course.scores() == {"Ada Lovelace": 100.0, "Bob": None}
    assert "1 without a grade: no submission" in course.said()


def test_a_notebook_is_taken_from_any_export_whatever_its_outputs_weigh(tmp_path: Path) -> None:
    image = {"output_type": "display_data", "data": {"image/png": "A" * (25 << 20)}, "metadata": {}}
    work = "class GPT: pass"
    for place in ("submitted/ada/step-05", "submitted/bob/step-05"):
        (tmp_path / place).mkdir(parents=True)
    save(tmp_path / "submitted" / "ada" / "step-05" / "step-05.ipynb", code(work, outputs=[image]))
    save(tmp_path / "submitted" / "bob" / "step-05" / "step-05.ipynb", work)
    items = taken(tmp_path, tmp_path / "submitted")
    assert items["ada"][0].sha256 == items["bob"][0].sha256 != ""
    stored = collect.source_path(tmp_path / "store", items["ada"][0].sha256)
    assert read_submission(stored, ASSIGNMENT).names == ("notebook.ipynb",)
    assert read_submission(stored, ASSIGNMENT).sha256 == items["ada"][0].sha256
