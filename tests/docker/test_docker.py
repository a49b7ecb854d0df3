"""Test the image, and the packages as Gradescope and PrairieLearn run them, in real containers."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from autograder.assignment import ASSIGNMENT
from autograder.grading import rubric
from tests import bank_file
from tests.docker import channels, parity
from tests.docker.channels import BASE, ROOT, Gradescope, Outcome, PrairieLearn, docker

ROWS = rubric.load(ASSIGNMENT)
LOOP = """
class MLP:
    def __init__(self, d):
        while True:
            pass
"""
BOMB = """
class MLP:
    def __init__(self, d):
        self.kept = []
        while True:
            self.kept.append(bytearray(b"x" * (64 << 20)))
"""
# Script that lists each thing in the image that should not be there.
INSIDE = """
test "$(id -u)" != 0 || echo root
command -v gcc make pip
/opt/autograder/venv/bin/python -c 'import pip' 2>/dev/null && echo pip
python3 -c 'import torch' 2>/dev/null && echo "torch in the system's Python"
ls -d /build /opt/autograder/app/reference /opt/autograder/app/tests /root/.cache 2>/dev/null
find /opt -type d -name tests -o -type d -name test -o -name '*.whl' -o -name '*.a' -o -perm -o+w ! -type l
touch /opt/autograder/app/x 2>/dev/null && echo "can be written to"
true
"""


@pytest.fixture(scope="session")
def grader() -> str:
    return channels.image("grader")


@pytest.fixture(scope="session")
def gradescope() -> Iterator[Gradescope]:
    with channels.gradescope() as channel:
        yield channel


@pytest.fixture(scope="session")
def prairielearn() -> Iterator[PrairieLearn]:
    with channels.prairielearn() as channel:
        yield channel


@pytest.fixture
def open_tmp(tmp_path: Path) -> Path:
    """Return a folder that the image's user can read too."""
    for folder in (tmp_path, *tmp_path.parents[:2]):
        folder.chmod(0o755)
    return tmp_path


def reference(folder: Path, extra: str = "") -> Path:
    """Write the solution with a later definition, which takes precedence."""
    place = folder / "ada"
    place.mkdir()
    for name in ("gpt.py", "paper.py", "verify.py"):
        shutil.copy(ROOT / "reference" / name, place)
    (place / "gpt.py").open("a").write(f"\n\n{extra}")
    return place


# --- the image --------------------------------------------------------------------------------------------------------


def test_the_image_holds_what_grading_needs_and_no_more(grader: str) -> None:
    done = docker("run", "--rm", "--network", "none", "--entrypoint", "sh", grader, "-c", INSIDE)
    assert done.stdout == ""


def test_the_image_says_what_is_in_it(grader: str) -> None:
    labels = json.loads(docker("inspect", "-f", "{{json .Config.Labels}}", grader).stdout)
    torch = (ROOT / "requirements" / "torch.txt").read_text().split("torch==")[1].strip()
    assert labels["gpt-assembly.torch"] == torch
    assert labels["gpt-assembly.python"].startswith("3.")
    assert labels["org.opencontainers.image.base.name"] == BASE
    assert labels["org.opencontainers.image.version"]
    assert labels["org.opencontainers.image.revision"]


def test_what_cannot_be_graded_in_the_image_is_one_line(grader: str, tmp_path: Path) -> None:
    for path, image, said in (
        (tmp_path / "nowhere", grader, "nowhere: not found"),
        (ROOT / "reference", "gpt-assembly:no-such", "make image"),
    ):
        done = subprocess.run(
            ["sh", "docker/grade.sh", str(path)],
            cwd=ROOT,
            env=os.environ | {"IMAGE": image},
            capture_output=True,
            text=True,
            check=False,
        )
        assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1)
        assert said in done.stderr


def test_a_base_without_python_is_refused_in_words(tmp_path: Path) -> None:
    subprocess.run(
        ["tar", "-C", str(tmp_path), "-cf", "empty.tar", "--files-from", os.devnull], check=True, cwd=tmp_path
    )
    docker("import", str(tmp_path / "empty.tar"), "gpt-assembly-test-empty")
    try:
        with pytest.raises(RuntimeError, match=r"no Python 3\.11 or newer.*apt-get install -y python3\.11-venv"):
            build_on("gpt-assembly-test-empty")
    finally:
        docker("rmi", "gpt-assembly-test-empty")
    with pytest.raises(RuntimeError, match="not found locally, and pulling it failed"):
        build_on("gpt-assembly-test-nowhere/x")


def build_on(base: str) -> None:
    done = subprocess.run(
        ["sh", "docker/image.sh"],
        cwd=ROOT,
        env=os.environ | {"BASE_IMAGE": base, "IMAGE": "gpt-assembly-test:x"},
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        raise RuntimeError(" ".join(done.stderr.split()))


@pytest.mark.parametrize("name", ["a folder, with \"signs\" and 'more': ü", "plain"])
def test_any_name_of_a_folder_can_be_graded_in_the_image(name: str, grader: str, open_tmp: Path) -> None:
    folder = reference(open_tmp).rename(open_tmp / name)
    done = channels.by_image(folder)
    assert (done.status, done.log) == (0, "")
    assert f"{ROWS.total} / {ROWS.total} points" in done.text


# --- Gradescope -------------------------------------------------------------------------------------------------------


def test_gradescope_s_smallest_box_is_enough(gradescope: Gradescope, open_tmp: Path) -> None:
    done = gradescope(reference(open_tmp), cpus=channels.CPUS)
    assert (done.status, done.score) == (0, ROWS.total)
    assert done.points == [check.points for check in ROWS.checks]
    print(f"Gradescope's box: {done.seconds:.0f} s for the reference; the image took {gradescope.setup_seconds:.0f} s")


def test_the_system_s_python_is_left_alone_and_the_secret_closed(gradescope: Gradescope) -> None:
    script = "python3 -c 'import numpy' 2>&1 | tail -1; stat -c %a /autograder/source/secret"
    done = docker("run", "--rm", "--entrypoint", "sh", gradescope.image, "-c", script)
    assert done.stdout == "ModuleNotFoundError: No module named 'numpy'\n600\n"


def test_gradescope_tells_students_what_they_did_not_hand_in(gradescope: Gradescope, open_tmp: Path) -> None:
    for name, said in (
        ("my_gpt.py", "only my_gpt.py; put your classes in a file named gpt.py"),
        ("step.ipynb", "Python code, not a notebook; submit it as a file named gpt.py"),
    ):
        folder = open_tmp / name
        folder.mkdir()
        (folder / name).write_text("class GPT: pass\n")
        done = gradescope(folder)
        assert (done.status, done.score) == (0, 0)
        assert said in json.loads(done.text)["output"]


@pytest.mark.parametrize(("what", "status"), [(LOOP, "infinite loop"), (BOMB, "memory")])
def test_a_loop_and_a_memory_bomb_cost_only_what_they_touch(
    what: str, status: str, gradescope: Gradescope, open_tmp: Path
) -> None:
    done = gradescope(reference(open_tmp, what))
    assert done.status == 0
    assert status.lower() in done.text.lower()
    by_id = dict(zip((check.id for check in ROWS.checks), done.points, strict=True))
    assert not [name for name, points in by_id.items() if name.startswith("mlp.") and points]
    assert by_id["attention.formula"] == 6


def test_where_the_grader_is_broken_gradescope_gets_no_result(gradescope: Gradescope, open_tmp: Path) -> None:
    folder = reference(open_tmp)
    for broken in ("rm source/secret", "rm -r source/.venv"):
        (open_tmp / "results").mkdir(exist_ok=True)
        done = docker(
            *("run", "--rm", "-w", "/autograder", "--entrypoint", "sh"),
            *("-v", f"{folder}:/autograder/submission", "-v", f"{open_tmp}/results:/autograder/results"),
            *(gradescope.image, "-c", f"{broken} && ./run_autograder"),
            check=False,
        )
        assert done.returncode == 3
        assert "No grade" in done.stdout or "build the autograder again" in done.stderr
        assert not list((open_tmp / "results").iterdir())


def test_gradescope_s_docker_way_gives_the_same_points(open_tmp: Path) -> None:
    done = Gradescope(channels.image("gradescope"))(reference(open_tmp))
    assert (done.status, done.score) == (0, ROWS.total)
    assert done.points == [check.points for check in ROWS.checks]


# --- PrairieLearn -----------------------------------------------------------------------------------------------------


def test_prairielearn_grades_with_the_question_s_own_entry_point(prairielearn: PrairieLearn, open_tmp: Path) -> None:
    done = prairielearn(reference(open_tmp))
    assert (done.status, done.score) == (0, 100)
    assert done.points == [check.points for check in ROWS.checks]


def test_prairielearn_counts_no_attempt_for_what_cannot_be_graded(prairielearn: PrairieLearn, open_tmp: Path) -> None:
    (open_tmp / "step.ipynb").write_text("{}")
    done = prairielearn(open_tmp)
    assert done.status == 0
    data = json.loads(done.text)
    assert data["gradable"] is False
    assert "no cells in it" in data["format_errors"][0]


# --- all of them ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("file", ["variants/sdpa", "mistakes/attention_scale_sqrt_d", "broken/syntax_error_in_block"])
def test_every_channel_gives_the_same_points(
    file: str, grader: str, gradescope: Gradescope, prairielearn: PrairieLearn, open_tmp: Path
) -> None:
    folder = parity.write(bank_file.BANK / f"{file}.py", open_tmp)
    command = channels.by_command(folder)
    assert channels.by_image(folder).text == command.text
    others: list[Outcome] = [gradescope(folder), prairielearn(folder)]
    assert [outcome.points for outcome in others] == [command.points] * 2
    assert [round(outcome.score, 9) for outcome in others] == [command.score] * 2
