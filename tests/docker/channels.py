"""Run every channel as its platform does: the command line, the image, Gradescope's and PrairieLearn's containers.

A channel grades a folder and returns an ``Outcome``, which must be the same on all channels.
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import re
import shutil
import subprocess
import tempfile
import time
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from autograder import lms
from autograder.assignment import ASSIGNMENT
from autograder.core.zip_writer import zip_entries
from autograder.grading import rubric
from autograder.lms.package_files import make_secret
from tests.validators import gradescope as gradescope_validator
from tests.validators import prairielearn as prairielearn_validator

ROOT = Path(__file__).resolve().parents[2]
BASE = os.environ.get("BASE_IMAGE") or "python:3.11-slim-bookworm"
MEMORY, CPUS = "768m", "0.5"  # Gradescope's smallest container
SCORE = re.compile(r" ([\d.]+) / [\d.]+ points")


@dataclass
class Outcome:
    """A score, the points of each check in order, and other output that tests inspect."""

    score: float
    points: list[float] = field(default_factory=list)
    text: str = ""  # the text that the student reads, or the platform's file
    log: str = ""  # the output that staff read
    status: int = 0
    seconds: float = 0.0


def docker(*arguments: str, check: bool = True, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run a docker command; if it fails, the error contains its output."""
    done = subprocess.run(
        ["docker", *arguments], capture_output=True, text=True, check=False, env=os.environ | environment
    )
    if check and done.returncode:
        raise RuntimeError(f"docker {' '.join(arguments)}: status {done.returncode}\n{done.stdout}{done.stderr}")
    return done


def image(target: str) -> str:
    """Return the image for ``target``; build it if it is missing."""
    done = subprocess.run(
        ["sh", "docker/image.sh"],
        cwd=ROOT,
        env=os.environ | {"TARGET": target, "BASE_IMAGE": BASE, "IMAGE": f"gpt-assembly:{target}"},
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        raise RuntimeError(f"docker/image.sh: {done.stdout}{done.stderr}")
    return f"gpt-assembly:{target}"


def _printed(command: list[str], folder: Path) -> Outcome:
    started = time.perf_counter()
    done = subprocess.run(
        [*command, str(folder)],
        cwd=ROOT,
        env=os.environ | {"COLUMNS": "100", "SUBMISSION": str(folder)},
        capture_output=True,
        text=True,
        check=False,
    )
    found = SCORE.search(done.stdout)
    score = float(found[1]) if found else float("nan")
    return Outcome(score, [], done.stdout, done.stderr, done.returncode, time.perf_counter() - started)


def by_command(folder: Path) -> Outcome:
    """Run ``make grade``, and return the points from its report."""
    with tempfile.TemporaryDirectory() as place:
        target = Path(place) / "report.json"
        outcome = _printed([".venv/bin/python", "-m", "autograder", "grade", "--json", str(target)], folder)
        with contextlib.suppress(FileNotFoundError):
            outcome.points = [check["score"] for check in json.loads(target.read_text())["checks"]]
    return outcome


def by_image(folder: Path) -> Outcome:
    """Run ``make docker-grade``."""
    return _printed(["sh", "docker/grade.sh"], folder)


class Gradescope:
    """Gradescope's harness: a container of the assignment's image for each submission."""

    def __init__(self, image: str) -> None:
        self.image = image
        self.setup_seconds = 0.0

    @classmethod
    def from_zip(cls, package: bytes, wheels: Path, base: str = BASE) -> Gradescope:
        """Build the image that Gradescope makes from the zip file, once."""
        self = cls("gpt-assembly-gradescope-zip")
        started = time.perf_counter()
        name = docker(
            *("run", "-d", "--network", "none", "--memory", MEMORY, "--memory-swap", MEMORY, "--entrypoint", "sleep"),
            # Instead of the platform's network, pip finds the wheels in a folder.
            *("-v", f"{wheels}:/wheels:ro", "-e", "PIP_NO_INDEX=1", "-e", "PIP_FIND_LINKS=/wheels"),
            *(base, "3600"),
        ).stdout.strip()
        try:
            with tempfile.TemporaryDirectory() as folder:
                # File modes are lost, as with unpackers that ignore them.
                zipfile.ZipFile(io.BytesIO(package)).extractall(Path(folder) / "source")
                os.chmod(folder, 0o755)
                (Path(folder) / "results").mkdir()
                docker("cp", folder, f"{name}:/autograder")
            docker("exec", name, "bash", "/autograder/source/setup.sh")
            docker("exec", name, "cp", "/autograder/source/run_autograder", "/autograder/run_autograder")
            docker("exec", name, "chmod", "+x", "/autograder/run_autograder")
            docker("commit", name, self.image)
        finally:
            docker("rm", "-f", name)
        self.setup_seconds = time.perf_counter() - started
        return self

    def __call__(self, folder: Path, cpus: str = "2", metadata: dict[str, object] | None = None) -> Outcome:
        """Grade one submission in a container with Gradescope's memory."""
        started = time.perf_counter()
        with tempfile.TemporaryDirectory() as place:
            results = Path(place) / "results"
            results.mkdir()
            record = Path(place) / "submission_metadata.json"
            record.write_text(json.dumps(metadata or {}))
            done = docker(
                *("run", "--rm", "--network", "none", "--memory", MEMORY, "--memory-swap", MEMORY, "--cpus", cpus),
                *("-v", f"{folder}:/autograder/submission", "-v", f"{results}:/autograder/results"),
                *("-v", f"{record}:/autograder/submission_metadata.json", "-w", "/autograder"),
                *("--entrypoint", "/autograder/run_autograder", self.image),
                check=False,
            )
            took = time.perf_counter() - started
            try:
                text = (results / "results.json").read_text("utf-8")
            except FileNotFoundError:
                return Outcome(float("nan"), [], "", done.stdout + done.stderr, done.returncode, took)
        problems = gradescope_validator.problems(text)
        if problems:
            raise AssertionError(problems)
        data = json.loads(text)
        points = [test.get("score", 0) for test in data["tests"]]
        criteria = rubric.load(ASSIGNMENT).criteria
        bonus = len([check for one in criteria if one.bonus for check in one.checks])  # the last tests
        score = data["score"] - sum(points[-bonus:])  # Gradescope gets the bonus as extra credit
        return Outcome(score, points, text, done.stdout + done.stderr, done.returncode, took)


class PrairieLearn:
    """PrairieLearn's external grader: a container of the question's image for each submission."""

    def __init__(self, package: bytes) -> None:
        self.folder = Path(tempfile.mkdtemp())
        zipfile.ZipFile(io.BytesIO(package)).extractall(self.folder)
        self.question = next((self.folder / "questions").iterdir())
        self.options = json.loads((self.question / "info.json").read_text())["externalGradingOptions"]

    def __call__(self, folder: Path) -> Outcome:
        started = time.perf_counter()
        with tempfile.TemporaryDirectory() as place:
            job = Path(place) / "grade"
            shutil.copytree(folder, job / "student")
            shutil.copytree(self.question / "tests", job / "tests")
            (job / "data").mkdir()
            (job / "data" / "data.json").write_text("{}")
            start, *arguments = self.options["entrypoint"]
            done = docker(
                *("run", "--rm", "--network", "none", "-v", f"{job}:/grade", "--entrypoint", start),
                *(self.options["image"], *arguments),
                check=False,
            )
            text = (job / "results" / "results.json").read_text("utf-8")
        problems = prairielearn_validator.problems(text)
        if problems:
            raise AssertionError(problems)
        data = json.loads(text)
        points = [test["points"] for test in data.get("tests", [])]
        score = data["score"] * rubric.load(ASSIGNMENT).total if data.get("gradable", True) else float("nan")
        took = time.perf_counter() - started
        return Outcome(score, points, text, done.stdout + done.stderr, done.returncode, took)

    def close(self) -> None:
        shutil.rmtree(self.folder)


def package(platform: str, **options: str) -> bytes:
    """Return the instructor's zip file, with a new secret."""
    module = lms.get(platform)
    return zip_entries(module.package(ASSIGNMENT, make_secret(), options.get("image", "")))  # type: ignore[attr-defined]


@contextlib.contextmanager
def gradescope() -> Iterator[Gradescope]:
    """Gradescope with this project's package."""
    channel = Gradescope.from_zip(package("gradescope"), ROOT / "wheelhouse")
    try:
        yield channel
    finally:
        docker("rmi", "-f", channel.image)


@contextlib.contextmanager
def prairielearn() -> Iterator[PrairieLearn]:
    """PrairieLearn with this project's question."""
    channel = PrairieLearn(package("prairielearn", image=image("prairielearn")))
    try:
        yield channel
    finally:
        channel.close()
