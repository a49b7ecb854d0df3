"""Test that a platform's package is complete, without a solution, and has its own secret."""

from __future__ import annotations

import io
import json
import stat
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from unittest.mock import MagicMock

import pytest

from autograder import cli, lms
from autograder.assignment import ASSIGNMENT
from autograder.core.errors import BadInput
from autograder.core.zip_writer import Entry, zip_entries
from autograder.grading import rubric, secret, suite
from autograder.lms import package_files, run
from autograder.sandbox.isolation import selftest
from autograder.sandbox.remote import client
from tests.conftest import ROOT
from tests.test_cli import command, one_line
from tests.validators import gradescope as gradescope_validator
from tests.validators import prairielearn as prairielearn_validator


def packed(tmp_path: Path, platform: str, *options: str) -> Path:
    target = tmp_path / f"{len(list(tmp_path.iterdir()))}.zip"
    done = command("package", platform, "--out", str(target), *options)
    assert (done.returncode, done.stderr) == (0, "")
    return target


def test_the_gradescope_package_is_what_gradescope_takes_and_holds_no_solution(tmp_path: Path) -> None:
    target = packed(tmp_path, "gradescope")
    assert stat.S_IMODE(target.stat().st_mode) == 0o600  # it contains the secret
    assert gradescope_validator.package_problems(target.read_bytes()) == []
    with zipfile.ZipFile(target) as archive:
        names = archive.namelist()
        assert {name.split("/")[0] for name in names} == {
            *("setup.sh", "run_autograder", "secret", "LICENSE", "autograder", "requirements")
        }
        assert stat.S_IMODE(archive.getinfo("secret").external_attr >> 16) == 0o600
        assert not [name for name in names if "test_" in name or "reference" in name or "__pycache__" in name]
        files = {str(path.relative_to(ROOT)) for path in (ROOT / "autograder").rglob("*") if path.is_file()}
        assert {name for name in names if name.startswith("autograder/")} == {
            f for f in files if "__pycache__" not in f
        }


@pytest.mark.parametrize("platform", ["student", "gradescope", "prairielearn"])
def test_no_package_is_made_with_a_mistake_in_the_rubric(
    platform: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused(_: object) -> rubric.Rubric:
        raise rubric.RubricError("rubric.toml:7: total is 100, but the points sum to 101; change one")

    monkeypatch.setattr(rubric, "load", refused)
    with pytest.raises(BadInput, match="sum to 101"):
        cli.package(SimpleNamespace(obj=ASSIGNMENT), platform, tmp_path / "made.zip", None, "image")  # type: ignore[arg-type]
    assert not list(tmp_path.iterdir())


def test_each_package_has_its_own_secret_and_an_earlier_one_can_be_used_again(tmp_path: Path) -> None:
    one, other = packed(tmp_path, "gradescope"), packed(tmp_path, "gradescope")
    secrets = [zipfile.ZipFile(path).read("secret") for path in (one, other)]
    assert len({*secrets, secrets[0].strip()}) == 3
    assert all(len(secret.strip()) == 64 for secret in secrets)
    (tmp_path / "kept").write_bytes(secrets[0])
    assert packed(tmp_path, "gradescope", "--secret-file", str(tmp_path / "kept")).read_bytes() == one.read_bytes()


def test_the_prairielearn_package_is_a_question(tmp_path: Path) -> None:
    target = packed(tmp_path, "prairielearn", "--image", "registry.example.edu/grader:1")
    with zipfile.ZipFile(target) as archive:
        names = sorted(archive.namelist())
        assert names == [f"questions/gpt-assembly/{name}" for name in ("info.json", "question.html", "tests/secret")]
        info = archive.read(names[0]).decode()
    assert prairielearn_validator.info_problems(info) == []
    options = json.loads(info)["externalGradingOptions"]
    assert options["image"] == "registry.example.edu/grader:1"
    assert options["timeout"] > run.DEADLINE


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["package", "junit", "--out", "x.zip"], ["junit", "gradescope, prairielearn"]),
        (["package", "blackboard", "--out", "x.zip"], ["blackboard", "gradescope, prairielearn"]),
        (["package", "gradescope", "--out", "no/such/folder/x.zip"], ["no/such/folder"]),
        (["package", "gradescope", "--out", "x.zip", "--secret-file", "nowhere"], ["nowhere", "No such file"]),
        (["package", "gradescope", "--out", "x.zip", "--secret-file", "SHORT"], ["shorter than 16 bytes"]),
        (["package", "gradescope"], ["--out"]),
        (["lms", "blackboard"], ["blackboard", "gradescope, junit, prairielearn"]),
        (["grade", "reference", "--secret-file", "nowhere"], ["nowhere", "No such file"]),
        (["grade", "reference", "--secret-file", "nowhere", "--seed", "1"], ["--seed", "give only one"]),
    ],
)
def test_bad_input_is_status_2_and_one_line(
    arguments: list[str],
    said: list[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    (tmp_path / "short").write_text("12345\n")
    monkeypatch.chdir(ROOT)
    given = [a.replace("SHORT", str(tmp_path / "short")).replace("x.zip", str(tmp_path / "x.zip")) for a in arguments]
    monkeypatch.setattr(cli.sys, "argv", ["autograder", *given])
    with pytest.raises(SystemExit) as ended:
        cli.main()
    printed = capfd.readouterr()
    assert (ended.value.code, printed.out) == (2, "")
    assert not (tmp_path / "x.zip").exists()
    line = one_line(printed.err)
    assert [word for word in said if word not in line] == []


def test_scripts_keep_line_feeds_alone_wherever_a_package_is_made(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "run").write_bytes(b"#!/bin/sh\r\necho\r\n")
    monkeypatch.setattr(package_files, "ROOT", tmp_path)
    assert package_files.read_text("run").data == b"#!/bin/sh\necho\n"


def test_modes_are_kept_also_by_a_package_made_on_windows(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "platform", "win32")
    data = zip_entries({"run": Entry(b"x", 0o755)})
    monkeypatch.undo()
    (info,) = zipfile.ZipFile(io.BytesIO(data)).infolist()
    assert (info.create_system, info.external_attr >> 16) == (3, 0o100755)


def test_a_package_cannot_be_made_where_a_part_is_missing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(package_files, "ROOT", tmp_path)
    with pytest.raises(package_files.PackError, match=r"setup\.sh.*full checkout"):
        lms.get("gradescope").package(ASSIGNMENT, b"secret", "")  # type: ignore[attr-defined]


# --- secrets of gradings that count -----------------------------------------------------------------------------------


@pytest.fixture
def drawn(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Callable[..., bytes]:
    """Return the secret behind the hidden inputs of `grade`, without grading."""
    (tmp_path / "gpt.py").write_text("class GPT: pass\n")
    found: list[bytes] = []

    def look(*_: object, secret: bytes, **__: object) -> None:
        found.append(secret)
        raise BadInput("seen")

    monkeypatch.setattr(client, "Zygote", MagicMock())
    monkeypatch.setattr(selftest, "check", lambda *_: ())
    monkeypatch.setattr(suite, "grade", look)

    def drawn(*options: str) -> bytes:
        monkeypatch.setattr(cli.sys, "argv", ["autograder", "grade", str(tmp_path / "gpt.py"), *options])
        with pytest.raises(SystemExit):
            cli.main()
        return found[-1]

    return drawn


def test_a_grading_that_counts_has_a_secret_that_cannot_be_guessed(drawn: Callable[..., bytes], tmp_path: Path) -> None:
    official = [drawn("--official"), drawn("--official"), drawn("--official", "--seed", "7")]
    assert len({*official, drawn("--official", "--seed", "7")}) == 4
    assert min(map(len, official)) >= 32
    assert (drawn(), drawn("--seed", "7")) == (secret.PUBLIC, b"7")  # a student's own machine has nothing to hide
    (tmp_path / "secret").write_bytes(secret.draw())
    given = drawn("--official", "--secret-file", str(tmp_path / "secret"))
    assert given == (tmp_path / "secret").read_bytes()


def test_every_platform_grades_officially() -> None:
    assert run.OFFICIAL == ("--official",)
    assert lms.get("junit").paths(Path("x")).secret is None  # so that `grade --official` draws one
