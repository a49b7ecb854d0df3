"""Test that Gradescope's setup.sh finds or installs a separate Python, or says what to do; apt is a fake."""

from __future__ import annotations

import shutil
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import ROOT

OLD = "#!/bin/sh\nexit 1\n"  # a python3 that fails every version test of setup.sh
APT_CACHE = """#!/bin/sh
echo "apt-cache $*" >>"$LOG"
case "$*" in *"^$OFFERED-venv\\$"*) echo "$OFFERED-venv - for environments" ;; esac
"""
APT_GET = """#!/bin/sh
echo "apt-get $*" >>"$LOG"
case "$*" in *update*) exit "${NETWORK:-0}" ;; *install*) ln -s "$REAL" "$(dirname "$0")/$OFFERED" ;; esac
"""
INSTALL = """#!/bin/sh
mkdir -p .venv/bin
printf '#!/bin/sh\\nexit 0\\n' >.venv/bin/python
chmod +x .venv/bin/python
"""


@pytest.fixture
def box(tmp_path: Path) -> Path:
    """Return a package unpacked without modes, and a PATH with an old python3 and a fake apt."""
    (tmp_path / "source" / "requirements").mkdir(parents=True)
    shutil.copy(ROOT / "docker" / "gradescope" / "setup.sh", tmp_path / "source")
    (tmp_path / "source" / "requirements" / "setup.sh").write_text(INSTALL)
    (tmp_path / "source" / "secret").write_text("0" * 64)
    (tmp_path / "source" / "secret").chmod(0o644)
    (tmp_path / "bin").mkdir()
    for name, text in (("python3", OLD), ("apt-cache", APT_CACHE), ("apt-get", APT_GET)):
        (tmp_path / "bin" / name).write_text(text)
        (tmp_path / "bin" / name).chmod(0o755)
    (tmp_path / "new").write_text(f'#!/bin/sh\nexec "{sys.executable}" "$@"\n')
    (tmp_path / "new").chmod(0o755)
    for tool in ("sh", "bash", "dirname", "chmod", "mkdir", "ln", "rm", "env"):
        (tmp_path / "bin" / tool).symlink_to(str(shutil.which(tool)))
    return tmp_path


def setup(box: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    variables = {"PATH": str(box / "bin"), "LOG": str(box / "log"), "REAL": str(box / "new"), "OFFERED": "python3.none"}
    return subprocess.run(
        [str(shutil.which("bash")), str(box / "source" / "setup.sh")],
        env=variables | environment,
        cwd=box,
        capture_output=True,
        text=True,
        check=False,
    )


def test_a_python_that_is_there_is_taken(box: Path) -> None:
    (box / "bin" / "python3.12").symlink_to(box / "new")
    done = setup(box)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == "The grader is ready.\n"
    assert not (box / "log").exists()
    assert stat.S_IMODE((box / "source" / "secret").stat().st_mode) == 0o600
    assert (box / "source" / ".venv" / "bin" / "python").exists()


def test_the_newest_on_offer_is_installed_beside_the_system_s(box: Path) -> None:
    done = setup(box, OFFERED="python3.12")
    assert (done.returncode, done.stderr) == (0, "")
    log = (box / "log").read_text().splitlines()
    assert log[0] == "apt-get update -qq"
    assert log[-1] == "apt-get install -y -qq --no-install-recommends python3.12 python3.12-venv"
    assert [line for line in log if "3.11" in line] == []  # the first Python found was sufficient
    assert (box / "bin" / "python3").read_text() == OLD
    assert (box / "source" / ".venv" / "bin" / "python").exists()


@pytest.mark.parametrize(
    ("environment", "said"),
    [
        ({}, "choose a newer Ubuntu as base image in the autograder's settings, or use the Docker way"),
        ({"NETWORK": "100"}, "build the autograder again later"),
    ],
    ids=["nothing on offer", "no network"],
)
def test_where_there_is_none_setup_says_what_to_do(box: Path, environment: dict[str, str], said: str) -> None:
    done = setup(box, **environment)
    assert done.returncode == 1
    assert done.stderr.startswith("setup.sh: ")
    assert done.stderr.count("\n") == 1
    assert said in done.stderr
    assert not (box / "source" / ".venv").exists()
