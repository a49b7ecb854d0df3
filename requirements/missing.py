"""Print the lines of a requirements file that this Python's environment does not satisfy.

Used when `.venv` borrows another environment's packages. Any version that `pyproject.toml` and torch accept satisfies
a line, not only the pinned one; a package that neither of them mentions only has to be installed.
"""

import sys
import tomllib
from importlib import metadata
from pathlib import Path

# pip's own copy, since `packaging` itself may be missing.
from pip._vendor.packaging.requirements import Requirement
from pip._vendor.packaging.utils import canonicalize_name


def version(name: str) -> str | None:
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return None


ranges = tomllib.loads(Path("pyproject.toml").read_text(encoding="utf-8"))["project"]["dependencies"]
if version("torch"):
    ranges += metadata.requires("torch") or []
accepted = [r for r in map(Requirement, ranges) if r.marker is None or r.marker.evaluate({"extra": ""})]

for line in Path(sys.argv[1]).read_text(encoding="utf-8").splitlines():
    if not line.strip() or line.lstrip().startswith("#"):
        continue
    pin = Requirement(line)
    if pin.marker is not None and not pin.marker.evaluate():
        continue
    name, installed = canonicalize_name(pin.name), version(pin.name)
    if installed is None or not all(
        r.specifier.contains(installed, prereleases=True) for r in accepted if canonicalize_name(r.name) == name
    ):
        print(line)
