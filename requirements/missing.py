"""Print the lines of a requirement file that the environment of this Python does not meet.

Used when `.venv` borrows the packages of another environment. A package is met in any version that `pyproject.toml` and
torch accept, not only in the pinned one; a package of which neither says anything is met by being there.
"""

import sys
import tomllib
from importlib import metadata
from pathlib import Path

# pip's own copy: `packaging` may be among what is missing.
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
