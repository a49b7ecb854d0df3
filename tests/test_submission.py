"""Test that submissions are read as bytes, within limits and unexecuted; an error is one line with a remedy."""

from __future__ import annotations

import os
import shutil
import stat
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from autograder.assignment import ASSIGNMENT
from autograder.submission.archive import MAX_FILE, MAX_ZIP, BadSubmission, walk_folder
from autograder.submission.choose import MAX_FILES
from autograder.submission.read import read_submission
from tests.notebooks import code, save

CODE = b"class GPT: pass\n"
OTHER = b"class GPT: other = 1\n"
HEAD = (ASSIGNMENT.handed_out / "head.py").read_bytes()


def make(folder: Path, **files: bytes) -> Path:
    """Write these files, named without .py, to ``folder``."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, data in files.items():
        (folder / f"{name}.py").write_bytes(data)
    return folder


def pack(path: Path, files: dict[str, bytes], mode: int = 0o644) -> Path:
    """Write a zip file with these members."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in files.items():
            info = zipfile.ZipInfo(name)
            info.external_attr, info.compress_type = mode << 16, zipfile.ZIP_DEFLATED
            archive.writestr(info, data)
    return path


def refused(path: Path, *said: str) -> str:
    """Return the one-line error for ``path``: the path, the error and, after a semicolon, a remedy."""
    with pytest.raises(BadSubmission) as error:
        read_submission(path, ASSIGNMENT)
    line = str(error.value)
    assert line.isprintable()
    assert str(path) in line
    assert len(line.rpartition("; ")[2].split()) >= 2
    for word in said:
        assert word in line
    return line


# --- what is found ----------------------------------------------------------------------------------------------------


def test_a_folder_gives_its_python_files_and_nothing_else(tmp_path: Path) -> None:
    folder = make(tmp_path / "ada", gpt=CODE, paper=b"x = 1", helper=b"y = 2")
    (folder / "notes.txt").write_text("x")
    (folder / "data").mkdir()
    got = read_submission(folder, ASSIGNMENT)
    assert (got.id, got.format) == ("ada", "folder")
    assert got.names == ("gpt.py", "helper.py", "paper.py")
    assert got.files == {"gpt.py": CODE, "helper.py": b"y = 2", "paper.py": b"x = 1", "head.py": HEAD}


def test_a_file_of_any_name_is_taken_as_gpt_and_its_neighbours_are_not(tmp_path: Path) -> None:
    make(tmp_path, my_model=CODE, helper=b"x = 1")
    got = read_submission(tmp_path / "my_model.py", ASSIGNMENT)
    assert (got.id, got.format, got.names) == ("my_model", "file", ("gpt.py",))
    assert got.files == {"gpt.py": CODE, "head.py": HEAD}


def test_one_level_of_folders_may_be_around_it_and_litter_beside_it(tmp_path: Path) -> None:
    make(tmp_path / "step-05", gpt=CODE, helper=b"x = 1")
    for litter in ("__MACOSX", "__pycache__", ".ipynb_checkpoints", "node_modules", "venv"):
        make(tmp_path / litter, gpt=b"wrong one")
    (tmp_path / ".DS_Store").write_bytes(b"\0")
    (tmp_path / "._gpt.py").write_bytes(b"\0")
    make(tmp_path / "step-05", **{"._gpt": b"\0"})
    assert read_submission(tmp_path, ASSIGNMENT).names == ("gpt.py", "helper.py")
    assert read_submission(tmp_path, ASSIGNMENT).files["gpt.py"] == CODE


@pytest.mark.parametrize("around", ["", "step-05/", "step-05\\"], ids=["flat", "folder", "backslash"])
def test_a_zip_file_gives_what_the_folder_in_it_would(tmp_path: Path, around: str) -> None:
    files = {"gpt.py": CODE, "helper.py": b"x = 1"}
    litter = {"__MACOSX/._gpt.py": b"\0", "__MACOSX/gpt.py": b"\0", ".DS_Store": b"\0", "notes.txt": b"x"}
    path = pack(tmp_path / "ada.zip", {f"{around}{name}": data for name, data in files.items()} | litter)
    got = read_submission(path, ASSIGNMENT)
    assert (got.id, got.format, got.names) == ("ada", "zip", ("gpt.py", "helper.py"))
    assert got.sha256 == read_submission(make(tmp_path / "ada", gpt=CODE, helper=b"x = 1"), ASSIGNMENT).sha256
    assert sorted(tmp_path.iterdir()) == [tmp_path / "ada", path]


def test_a_name_in_other_letters_is_the_same_name(tmp_path: Path) -> None:
    (tmp_path / "GPT.PY").write_bytes(CODE)
    assert read_submission(tmp_path, ASSIGNMENT).names == ("gpt.py",)
    assert read_submission(tmp_path / "GPT.PY", ASSIGNMENT).names == ("gpt.py",)


def test_the_students_own_head_counts_and_the_given_one_does_not_change_the_hash(tmp_path: Path) -> None:
    own = read_submission(make(tmp_path / "own", gpt=CODE, head=b"class Head: pass"), ASSIGNMENT)
    without = read_submission(make(tmp_path / "without", gpt=CODE), ASSIGNMENT)
    assert own.files["head.py"] == b"class Head: pass"
    assert (without.files["head.py"], without.names) == (HEAD, ("gpt.py",))
    assert own.sha256 != without.sha256


def test_the_hash_depends_on_names_and_bytes_and_on_nothing_else(tmp_path: Path) -> None:
    contents: list[dict[str, bytes]] = [
        {"gpt": CODE},
        {"gpt": CODE + b"#"},
        {"gpt": CODE, "a": b""},
        {"gpt": CODE, "b": b""},
        {"gpt": CODE, "a": b"b.py"},
        {"gpt": CODE, "a": b"", "b": b""},
    ]
    hashes = [read_submission(make(tmp_path / str(n), **files), ASSIGNMENT).sha256 for n, files in enumerate(contents)]
    again = [
        read_submission(make(tmp_path / f"again {n}" / "deep", **files).parent, ASSIGNMENT).sha256
        for n, files in enumerate(contents)
    ]
    assert hashes == again
    assert len(set(hashes)) == len(hashes)


def test_a_path_may_lead_over_links_but_its_id_is_that_of_the_target(tmp_path: Path) -> None:
    make(tmp_path / "real", gpt=CODE)
    (tmp_path / "link").symlink_to(tmp_path / "real")
    (tmp_path / "link.py").symlink_to(tmp_path / "real" / "gpt.py")
    assert read_submission(tmp_path / "link", ASSIGNMENT).id == "real"
    assert read_submission(tmp_path / "link.py", ASSIGNMENT).id == "gpt"


@pytest.mark.parametrize(
    "data",
    [
        "# ü".encode(),
        b"\xef\xbb\xbf# \xc3\xbc",
        "# coding: latin-1\n# ü".encode("latin-1"),
        "# -*- coding: cp1252 -*-\n# “ü”".encode("cp1252"),
        b"class GPT:\r\n    pass\r\n",
        b"def f(:",
    ],
    ids=["utf-8", "bom", "latin-1", "cp1252", "dos", "syntax error"],
)
def test_text_in_a_common_encoding_is_taken_as_it_is(tmp_path: Path, data: bytes) -> None:
    assert read_submission(make(tmp_path, gpt=data), ASSIGNMENT).files["gpt.py"] == data


def test_other_files_may_be_empty_or_unreadable_as_text(tmp_path: Path) -> None:
    got = read_submission(make(tmp_path, gpt=CODE, old_gpt=b"", helper=b"\0", __init__=b""), ASSIGNMENT)
    assert got.names == ("__init__.py", "gpt.py", "helper.py", "old_gpt.py")


def test_the_names_of_other_files_can_be_printed_and_sent(tmp_path: Path) -> None:
    make(tmp_path, gpt=CODE, **{"gpt (copy)": b"", "1st": b"", "esc\x1b[31m\n": b"", os.fsdecode(b"\xff"): b""})
    got = read_submission(tmp_path, ASSIGNMENT)
    for name in (*got.names, *got.files):
        assert name.isprintable()
        assert name.encode()


def test_nothing_is_executed_parsed_or_changed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    code = b"open('../seen', 'w')\n1 / 0"
    folder = make(tmp_path / "ada", gpt=code)
    pack(folder / "ada.zip", {"gpt.py": code})
    before = sorted(tmp_path.rglob("*"))
    called: list[object] = []
    read_submission(folder / "ada.zip", ASSIGNMENT)  # Python loads a codec at the first zip file
    with monkeypatch.context() as patch:
        for name in ("compile", "exec", "eval"):
            patch.setattr(f"builtins.{name}", lambda *arguments, **_: called.append(arguments))
        for path in (folder, folder / "gpt.py", folder / "ada.zip"):
            read_submission(path, ASSIGNMENT)
    assert called == []
    assert sorted(tmp_path.rglob("*")) == before


def test_folders_and_zip_files_in_each_other_are_looked_into_as_far_as_they_are_read(tmp_path: Path) -> None:
    names = list("abcdefghij")
    make(tmp_path.joinpath("deep", *names[:8]), gpt=CODE)
    assert read_submission(tmp_path / "deep", ASSIGNMENT).names == ("gpt.py",)
    refused(make(tmp_path.joinpath("deeper", *names), gpt=CODE).parents[9], "no Python file at all")
    data = pack(tmp_path / "0.zip", {"gpt.py": CODE}).read_bytes()
    for number in (1, 2):
        data = pack(tmp_path / f"{number}.zip", {f"{number - 1}.zip": data}).read_bytes()
        assert read_submission(tmp_path / f"{number}.zip", ASSIGNMENT).files["gpt.py"] == CODE
    refused(pack(tmp_path / "3.zip", {"2.zip": data}), "only 2.zip/1.zip/0.zip")


def test_zip_files_in_a_zip_file_are_bounded_together(tmp_path: Path) -> None:
    filler = os.urandom(MAX_ZIP // 2)
    path = make(tmp_path / "ada")
    for name in ("a", "b", "c"):
        pack(path / f"{name}.zip", {f"{name}.txt": filler})
    refused(path, "more than 20 MB of zip files")


def test_a_notebook_stored_in_a_zip_file_may_be_larger_than_its_listing(tmp_path: Path) -> None:
    image = code("class GPT: pass", outputs=[{"data": {"image/png": "A" * (3 << 20)}}])
    with zipfile.ZipFile(tmp_path / "x.zip", "w") as archive:
        archive.write(save(tmp_path / "x.ipynb", image), "x.ipynb")
    assert read_submission(tmp_path / "x.zip", ASSIGNMENT).names == ("notebook.ipynb",)


def test_a_link_that_replaces_a_folder_meanwhile_is_not_followed(tmp_path: Path) -> None:
    make(tmp_path / "elsewhere", gpt=CODE)
    make(tmp_path / "ada" / "work", gpt=CODE)
    (entry,) = walk_folder(tmp_path / "ada")
    shutil.rmtree(tmp_path / "ada" / "work")
    (tmp_path / "ada" / "work").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(BadSubmission):
        entry.read(100)


# --- what is refused --------------------------------------------------------------------------------------------------

BAD_TEXT = {
    "empty": (b"", "empty"),
    "blank": (b" \n\t\n", "empty"),
    "nul": (b"x = 1\0", "NUL"),
    "utf-16": ("x = 1".encode("utf-16"), "UTF-16"),
    "utf-16 without a mark": ("x = 1".encode("utf-16-le"), "NUL"),
    "latin-1 unannounced": (b"x = 1\n\n\n# \xfc", "UTF-8"),
    "punycode": (b"# coding: punycode\nx = 1", "punycode"),
    "rot13": (b"# coding: rot13\nk = 1", "rot13"),
    "utf-7": (b"# coding: utf-7\n+ACE-", "utf-7"),
    "no such encoding": (b"# coding: martian\nx = 1", "UTF-8"),
    "too large": (b"#" * (MAX_FILE + 1), "larger than 1 MB"),
}


@pytest.mark.parametrize("bad", BAD_TEXT)
@pytest.mark.parametrize("form", ["gpt.py", "", "ada.zip"], ids=["file", "folder", "zip"])
def test_what_is_no_text_is_refused_in_one_line_that_names_it(tmp_path: Path, bad: str, form: str) -> None:
    data, said = BAD_TEXT[bad]
    pack(make(tmp_path, gpt=data) / "ada.zip", {"step/gpt.py": data})
    line = refused(tmp_path / form, said)
    assert str(tmp_path / ("ada.zip/step/gpt.py" if "zip" in form else "gpt.py")) in line


def test_a_file_of_exactly_the_largest_size_is_taken(tmp_path: Path) -> None:
    assert len(read_submission(make(tmp_path, gpt=b"#" * MAX_FILE), ASSIGNMENT).files["gpt.py"]) == MAX_FILE


def test_a_folder_without_gpt_is_refused_with_what_it_holds(tmp_path: Path) -> None:
    refused(make(tmp_path / "none"), "no Python file at all")
    (make(tmp_path / "notes") / "step-05.ipynb").write_text("{}")
    refused(tmp_path / "notes", "step-05.ipynb: no cells in it", "save it again")
    refused(make(tmp_path / "other", model=CODE, paper=CODE), "model.py, paper.py", "named gpt.py")


def test_two_candidates_are_refused_with_both_names(tmp_path: Path) -> None:
    make(tmp_path, gpt=CODE)
    make(tmp_path / "old", gpt=OTHER)
    refused(tmp_path, str(tmp_path / "gpt.py"), str(tmp_path / "old" / "gpt.py"))


def test_too_many_files_are_refused(tmp_path: Path) -> None:
    refused(make(tmp_path, gpt=CODE, **{f"m{n}": b"" for n in range(MAX_FILES)}), str(MAX_FILES + 1))


def test_a_path_that_is_not_there_is_refused(tmp_path: Path) -> None:
    refused(tmp_path / "nobody", "No such file")
    (tmp_path / "dangling.py").symlink_to("nowhere")
    refused(tmp_path / "dangling.py", "No such file")


def test_a_file_of_another_kind_is_refused(tmp_path: Path) -> None:
    (tmp_path / "essay.pdf").write_bytes(b"%PDF")
    refused(tmp_path / "essay.pdf", ".py")


@pytest.mark.parametrize(
    "put",
    [
        lambda path: path.symlink_to("/etc/passwd"),
        lambda path: os.mkfifo(path),
        lambda path: path.mkdir(),
    ],
    ids=["link", "fifo", "folder"],
)
@pytest.mark.parametrize("name", ["gpt.py", "helper.py"])
def test_what_is_no_regular_file_is_refused_by_its_name(
    tmp_path: Path, put: Callable[[Path], object], name: str
) -> None:
    make(tmp_path, gpt=CODE)
    (tmp_path / name).unlink(missing_ok=True)
    put(tmp_path / name)
    refused(tmp_path, str(tmp_path / name))


def test_a_zip_file_that_cannot_be_read_whole_is_refused(tmp_path: Path) -> None:
    good = pack(tmp_path / "good.zip", {"gpt.py": CODE * 100}).read_bytes()
    path = tmp_path / "bad.zip"
    for data in (b"", b"PK\3\4", CODE, good[:-30], good[: len(good) // 2], good.replace(good[40:60], b"\xff" * 20)):
        path.write_bytes(data)
        refused(path)
    for name in ("../gpt.py", "../../gpt.py", "essay.txt"):
        refused(pack(path, {name: CODE}), "no gpt.py")
    refused(pack(path, {"gpt.py": CODE, "old/gpt.py": OTHER}), "2 candidates")
    refused(pack(path, {"gpt.py": b"/etc/passwd"}, stat.S_IFLNK | 0o777), "link")
    refused(pack(path, {"gpt.py": b"#" * (50 << 20)}), "larger than")
    path.write_bytes(good.replace(b"\x00\x00\x08\x00", b"\x01\x00\x08\x00"))  # the flag of an encrypted member
    refused(path, "password")


def test_a_zip_file_with_endless_entries_is_refused_before_they_are_read(tmp_path: Path) -> None:
    path = pack(tmp_path / "few.zip", {"gpt.py": CODE} | {f"{n}.txt": b"" for n in range(5_000)})
    assert read_submission(path, ASSIGNMENT).names == ("gpt.py",)
    many = pack(tmp_path / "many.zip", {"gpt.py": CODE} | {f"{n}-{'x' * 200}": b"" for n in range(9_000)})
    refused(many, "too many files")


def test_a_linked_folder_is_not_looked_into(tmp_path: Path) -> None:
    make(tmp_path / "elsewhere", gpt=CODE)
    make(tmp_path / "ada").joinpath("work").symlink_to(tmp_path / "elsewhere")
    refused(tmp_path / "ada", "no Python file at all")


def test_a_file_without_permission_is_refused(tmp_path: Path) -> None:
    make(tmp_path, gpt=CODE)
    (tmp_path / "gpt.py").chmod(0)
    if os.access(tmp_path / "gpt.py", os.R_OK):
        pytest.skip("this user reads everything")
    refused(tmp_path, "Permission denied", "make it readable")


def test_names_that_would_disturb_a_terminal_or_a_line_do_not(tmp_path: Path) -> None:
    make(tmp_path / "ada\x1b[2J\nlovelace", gpt=CODE)
    make(tmp_path / "babbage", gpt=OTHER)
    refused(tmp_path, "2 candidates")
    assert read_submission(tmp_path / "ada\x1b[2J\nlovelace", ASSIGNMENT).id.isprintable()
    with pytest.raises(BadSubmission) as error:
        read_submission(tmp_path / "no\x1b[2J\nbody", ASSIGNMENT)
    assert str(error.value).isprintable()


def test_a_folder_of_many_submissions_is_refused_in_a_line_that_can_be_read(tmp_path: Path) -> None:
    for n in range(1100):
        (tmp_path / f"student-{n:04}").mkdir()
        (tmp_path / f"student-{n:04}" / "gpt.py").write_bytes(CODE)
    assert len(refused(tmp_path, "1100 candidates")) < 1000


def test_no_descriptor_is_left_open(tmp_path: Path) -> None:
    def opened() -> int:
        return len(os.listdir("/proc/self/fd"))

    make(tmp_path / "good" / "below", gpt=CODE)
    bad = make(tmp_path / "bad", gpt=CODE)
    (bad / "helper.py").mkdir()
    before = opened()
    read_submission(tmp_path / "good", ASSIGNMENT)
    for _ in range(3):
        with pytest.raises(BadSubmission):
            read_submission(bad, ASSIGNMENT)
    assert opened() == before
