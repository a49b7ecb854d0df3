"""Test that the self-test finds the escapes that a missing layer allows, and none if all layers are in force."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from autograder.assignment import ASSIGNMENT
from autograder.grading import rubric, secret
from autograder.sandbox.isolation import landlock, seccomp, selftest
from autograder.sandbox.remote.client import SandboxError, Zygote
from tests.conftest import ROOT
from tests.test_cli import command, one_line

Weaker = Callable[..., Zygote]
FIRST = rubric.load(ASSIGNMENT).criteria[0].id
needs_both = pytest.mark.skipif(
    landlock.prepare(str(ROOT)) is None or not seccomp.is_available(), reason="this kernel lacks Landlock or seccomp"
)
PROCESSES = {"start processes", "start threads", "open connections", "make system calls that seccomp would deny"}
PROCESSES |= {"send bits to other workers"}
FILES = {"read the grader's files", "read the grader's code", "look into the home folder"}


@needs_both
@pytest.mark.parametrize("without", [(), ("uid",), ("landlock",), ("landlock", "uid")])
def test_nothing_leaks_where_processes_and_files_are_closed(
    weaker: Weaker, tmp_path: Path, without: tuple[str, ...]
) -> None:
    assert selftest.find_escapes(weaker(*without), [tmp_path]) == ()
    assert list(tmp_path.iterdir()) == []


def test_without_seccomp_processes_and_connections_leak(weaker: Weaker) -> None:
    found = selftest.find_escapes(weaker("seccomp"))
    assert set(found) >= PROCESSES
    assert len(found) == len(set(found))


def test_without_any_layer_files_and_signals_leak_as_well_and_nothing_is_left(weaker: Weaker, tmp_path: Path) -> None:
    found = selftest.find_escapes(weaker("landlock", "seccomp", "uid"), [tmp_path])
    more = {"change the grader's files", "send signals to the grader", "execute programs", "make folders"}
    assert set(found) >= PROCESSES | FILES | more
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "name", ["read", "create", "overwrite", "touch", "connect", "send", "signal", "execute", "affinity"]
)
def test_each_attempt_counts(weaker: Weaker, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Test that every listed attempt is made, and succeeds without layers."""
    tried = []
    succeeds = selftest._succeeds

    def only(student: selftest.Student, attempt: str, arguments: tuple[object, ...]) -> bool:
        tried.append(attempt)
        return attempt == name and succeeds(student, attempt, arguments)

    monkeypatch.setattr(selftest, "_succeeds", only)
    found = selftest.find_escapes(weaker("landlock", "seccomp", "uid"))
    assert name in tried
    assert len(found) >= 3  # this one, and the two layers that are missing


def test_a_probe_that_fails_is_the_graders_fault(
    weaker: Weaker, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    broken = tmp_path / "intruder.py"
    broken.write_text("def read(path): 1 / 0")
    monkeypatch.setattr(selftest, "ESCAPE_ATTEMPTS", broken)
    with pytest.raises(SandboxError, match="self-test failed at read"):
        selftest.find_escapes(weaker())


# --- the command ------------------------------------------------------------------------------------------------------

WEAKER = """
import functools
from autograder.sandbox.remote import client
client.Zygote = functools.partial(client.Zygote, without=("seccomp",))
from autograder.cli import main
main()
"""


def grade(target: Path, *options: str, code: str = "") -> tuple[int, str, str]:
    done = command("grade", "reference", "--only", FIRST, "--json", str(target), *options, code=code)
    return done.returncode, done.stdout, done.stderr


@needs_both
def test_official_grading_says_so_in_a_report_that_is_the_same_twice(tmp_path: Path) -> None:
    documents = []
    (tmp_path / "secret").write_bytes(secret.draw())
    for name in ("one", "two"):
        assert grade(tmp_path / name, "--official", "--secret-file", str(tmp_path / "secret"))[::2] == (0, "")
        documents.append(json.loads((tmp_path / name).read_text("utf-8")))
        del documents[-1]["timing"]
    assert json.dumps(documents[0]) == json.dumps(documents[1])
    assert (documents[0]["provenance"]["mode"], documents[0]["provenance"]["accepted_risks"]) == ("official", [])
    assert sorted(path.name for path in tmp_path.iterdir()) == ["one", "secret", "two"]


def test_official_grading_is_refused_where_something_leaks(tmp_path: Path) -> None:
    status, printed, said = grade(tmp_path / "report.json", "--official", code=WEAKER)
    assert (status, printed) == (3, "")
    assert "start processes" in one_line(said)
    assert "--allow-weak-sandbox" in said
    assert list(tmp_path.iterdir()) == []


def test_a_weaker_sandbox_can_be_accepted_and_the_report_says_so(tmp_path: Path) -> None:
    target = tmp_path / "report.json"
    status, printed, said = grade(target, "--official", "--allow-weak-sandbox", code=WEAKER)
    assert (status, said) == (0, "")
    provenance = json.loads(target.read_text("utf-8"))["provenance"]
    assert provenance["mode"] == "official"
    assert "start processes" in provenance["accepted_risks"]
    assert "start processes" in " ".join(printed.split())


def test_local_grading_refuses_nothing(tmp_path: Path) -> None:
    target = tmp_path / "report.json"
    assert grade(target, code=WEAKER)[::2] == (0, "")
    provenance = json.loads(target.read_text("utf-8"))["provenance"]
    assert (provenance["mode"], provenance["accepted_risks"]) == ("local", [])


def test_accepting_means_something_only_for_official_grading(tmp_path: Path) -> None:
    status, _, said = grade(tmp_path / "report.json", "--allow-weak-sandbox")
    assert status == 2
    assert "--official" in one_line(said)
