"""``python -m tests.attacks [--image NAME] [SETTING ...]``: run the bank's attacks in each setting and print one table.

Settings: ``root`` and ``user`` (root or an ordinary user on this host) and ``container`` (root in a container with
Docker's defaults, from the image that `make image` builds). Each runs tests/test_attacks.py on this checkout, which
every user must be able to read, with the same Python as this program. Only root can start it.
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
import sysconfig
import tempfile
import xml.etree.ElementTree as ET
from pathlib import Path

from rich.console import Console
from rich.table import Table

from tests import bank_file
from tests.conftest import ROOT

NOBODY = "65534"
SUITE = ["-q", "-p", "no:cacheprovider", "tests/test_attacks.py", "-k", "what_it_deserves"]
# Packages that only the tests need come last on the path, and only in the tests' own process.
IN_CONTAINER = "import sys; sys.path.append('/development'); import pytest; sys.exit(pytest.main(sys.argv[1:]))"
LEAK = re.compile(r"GAINED|secret|processes are left|port was reached| was \(.* and is | was None and is |loses \[")
GAIN = re.compile(r"deserves |it is no grade")


def command(setting: str, image: str, folder: Path) -> list[str]:
    """Return the command that runs the suite in ``setting`` and writes ``folder``/junit.xml."""
    here = [sys.executable, "-m", "pytest", *SUITE, f"--junitxml={folder}/junit.xml", f"--basetemp={folder}/tmp"]
    match setting:
        case "root":
            return here
        case "user":
            return ["setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups", "--", *here]
        case _:
            # With Docker's defaults: its seccomp profile and capabilities, a writable root, no limit.
            run = ["docker", "run", "--rm", "--user", "root", "-v", f"{ROOT}:/repository:ro", "-v", f"{folder}:/out"]
            run += ["-v", f"{sysconfig.get_path('purelib')}:/development:ro"]
            run += ["-w", "/repository", "-e", "PYTHONDONTWRITEBYTECODE=1", "-e", "OMP_NUM_THREADS=1"]
            run += ["--entrypoint", "/opt/autograder/venv/bin/python", image]
            return [*run, "-c", IN_CONTAINER, *SUITE, "--junitxml=/out/junit.xml"]


def run(setting: str, image: str) -> dict[str, str]:
    """Return the failure of each attack, or "". Raises RuntimeError if the suite could not run."""
    with tempfile.TemporaryDirectory(prefix="attacks-") as place:
        folder = Path(place)
        folder.chmod(0o777)
        done = subprocess.run(
            command(setting, image, folder),
            cwd=ROOT,
            env=os.environ | {"PYTHONDONTWRITEBYTECODE": "1", "OMP_NUM_THREADS": "1", "HOME": place, "TMPDIR": place},
            capture_output=True,
            text=True,
            check=False,
        )
        try:
            cases = ET.parse(folder / "junit.xml").iter("testcase")
        except (OSError, ET.ParseError):
            raise RuntimeError(f"{setting}: {(done.stdout + done.stderr)[-2000:]}") from None
        found = {}
        for case in cases:
            name = re.search(r"\[(.+)\]", case.get("name", ""))
            if name and case.find("skipped") is None:
                faults = [part.text or part.get("message", "") for part in case if part.tag in ("failure", "error")]
                found[name[1]] = "\n".join(faults)
        if not found:
            raise RuntimeError(f"{setting}: {(done.stdout + done.stderr)[-2000:]}")
        return found


def cell(fault: str | None) -> str:
    """Return the points gained and the leaks of one attack, or any other failure."""
    if fault is None:
        return "not run"
    gains, leaks = (len({line for line in fault.splitlines() if pattern.search(line)}) for pattern in (GAIN, LEAK))
    return f"{gains}  {leaks}" + ("  OTHER" if fault and not gains and not leaks else "")


def main() -> None:
    parser = argparse.ArgumentParser(description="Run the bank's attacks in each setting")
    parser.add_argument("settings", nargs="*", default=["root", "user", "container"])
    parser.add_argument("--image", default="gpt-assembly:grader")
    options = parser.parse_args()
    found = {}
    for setting in options.settings:
        print(f"{setting} ...", file=sys.stderr, flush=True)
        found[setting] = run(setting, options.image)
    table = Table("attack (checks other than deserved, leaks)", *options.settings, box=None, pad_edge=False)
    names = [path.stem for path in bank_file.paths("attacks")]
    for name in names:
        table.add_row(name, *(cell(found[setting].get(name)) for setting in options.settings))
    Console(width=110).print(table)
    wrong = [(setting, name, fault) for setting, faults in found.items() for name, fault in faults.items() if fault]
    for setting, name, fault in wrong:
        print(f"\n{setting}, {name}:\n{fault[-600:]}")
    for setting, faults in found.items():
        print(
            f"{setting}: {len(faults)} of {len(names)} attacks run, {sum(map(bool, faults.values()))} not as deserved"
        )
    sys.exit(bool(wrong) or any(len(faults) < len(names) for faults in found.values()))


if __name__ == "__main__":
    main()
