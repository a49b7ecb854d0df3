"""Grade on a Dask cluster: each task runs the grader as a process for a few submissions."""

from __future__ import annotations

import base64
import contextlib
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from concurrent.futures import Future
from pathlib import Path
from typing import Any

from autograder.core import assignment as assignments
from autograder.core.assignment import Assignment
from autograder.core.errors import BadInput
from autograder.core.paths import ROOT
from autograder.course.runs.local_pool import GradeResult, RunConfig, grade_one, start_zygote
from autograder.grading.rubric import Rubric
from autograder.sandbox.isolation.confine import die_with_parent

CHUNK = 4  # submissions per task, which share one import of torch; the most that a lost worker loses


def run_chunk(sources: list[tuple[str, bytes]], config: RunConfig) -> list[GradeResult]:
    """Run a task on a worker, whose threads forbid forking graders directly."""
    request = {
        "assignment": config.assignment.module,
        "rubric": config.rubric.model_dump_json(),
        "secret": base64.b64encode(config.secret).decode(),
        "allow_weak_sandbox": config.allow_weak_sandbox,
        "sources": [(sha256, base64.b64encode(data).decode()) for sha256, data in sources],
    }
    done = subprocess.run(
        [sys.executable, "-m", __name__],
        env=os.environ | {"PYTHONPATH": f"{ROOT}{os.pathsep}{config.assignment.root}"},
        input=json.dumps(request),
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        lines = done.stderr.strip().splitlines() or [f"exit status {done.returncode}"]
        raise RuntimeError(f"the grader on the worker failed: {lines[-1]}")
    return [GradeResult(*answer) for answer in json.loads(done.stdout)]


def main() -> None:
    """Run the grader as a process: request on standard input, reports on standard output."""
    die_with_parent()
    request = json.load(sys.stdin)
    rubric = Rubric.model_validate_json(request["rubric"])
    assignment = assignments.load(request["assignment"])
    config = RunConfig(assignment, rubric, base64.b64decode(request["secret"]), request["allow_weak_sandbox"])
    answers = []
    zygote, accepted_risks = start_zygote(config)
    with tempfile.TemporaryDirectory(prefix="autograder-") as folder, zygote:
        for sha256, data in request["sources"]:
            path = Path(folder) / "submission.zip"
            path.write_bytes(base64.b64decode(data))
            one = grade_one(path, sha256, zygote, accepted_risks, config)
            answers.append((one.sha256, one.document, one.trouble))
    json.dump(answers, sys.stdout)


class DaskPool:
    """A pool on a cluster: the scheduler reassigns the tasks of a lost worker."""

    is_shared = False

    def __init__(self, config: RunConfig, client: Any) -> None:
        self.config, self.chunk, self._client = config, CHUNK, client
        self._executor = client.get_executor(retries=3, pure=False)

    @property
    def max_running(self) -> int:
        """Return how many tasks to keep running."""
        cores: dict[str, int] = self._client.ncores()
        return 2 * max(1, sum(cores.values()))

    def submit(self, chunk: list[tuple[str, Path]]) -> Future[list[GradeResult]]:
        """Grade a few submissions; the task carries their sources, so no shared file system is needed."""
        sources = [(sha256, path.read_bytes()) for sha256, path in chunk]
        found: Future[list[GradeResult]] = self._executor.submit(run_chunk, sources, self.config)
        return found

    def renew(self) -> None:
        """Do nothing: the scheduler manages its workers."""


@contextlib.contextmanager
def open_dask_pool(config: RunConfig, address: str) -> Iterator[DaskPool]:
    """Yield a pool on the cluster at ``address``. Raises BadInput."""
    try:
        from distributed import Client
    except ImportError:
        raise BadInput(
            "--scheduler needs Dask: pip install -r requirements/course.txt, here and on the workers"
        ) from None
    try:
        client = Client(address, timeout=10)
    except (OSError, ValueError) as error:
        raise BadInput(
            f"--scheduler {address}: {error or type(error).__name__}; is the scheduler running there?"
        ) from None
    try:
        _require_same_grader(client, config.assignment)
        yield DaskPool(config, client)
    finally:
        client.close()


def _require_same_grader(client: Any, assignment: Assignment) -> None:
    """Raise BadInput unless every worker has the grader of this machine."""
    from autograder.grading.suite import grader_version

    here = grader_version(assignment)
    there: dict[str, str] = client.run(_read_version, assignment.module)
    if not there:
        raise BadInput("--scheduler: no workers yet; start one with `dask worker ADDRESS`")
    others = sorted(address for address, version in there.items() if version != here)
    if others:
        raise BadInput(
            f"--scheduler: {others[0]} has a different grader ({there[others[0]]}, here {here}); install this version"
        )


def _read_version(module: str) -> str:
    from autograder.grading.suite import grader_version

    return grader_version(assignments.load(module))


if __name__ == "__main__":
    main()
